import SallyportURLLoading

/// A line on the terminal that shows the progress of a transfer; redrawn at most ten times a second.
struct ProgressBar {
    private static let width = 30
    private var lastDrawn: ContinuousClock.Instant?
    private var isDrawn = false

    mutating func show(_ progress: TransferProgress, now: ContinuousClock.Instant = .now) {
        let isLast = progress.fraction == 1
        guard isLast || lastDrawn.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        lastDrawn = now
        isDrawn = true
        StandardStreams.write(Array("\r\u{1b}[K\(Self.line(progress))".utf8), to: Workplace.current.error)
    }

    /// Leaves the cursor on a line of its own.
    func end() { if isDrawn { StandardStreams.error("") } }

    static func line(_ progress: TransferProgress) -> String {
        guard let fraction = progress.fraction, let total = progress.total else { return octets(progress.completed) }
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        return "[\(bar)] \(Int(fraction * 100)) %  \(octets(progress.completed)) of \(octets(total))"
    }

    /// `12 B`, `3.4 KiB`, `1.0 GiB`.
    static func octets(_ count: Int64) -> String {
        var value = Double(count)
        var unit = 0
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return "\(count) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
