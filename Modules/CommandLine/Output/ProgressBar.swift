import Glibc
import SallyportURLLoading

/// A line on the terminal that shows how far a transfer has come, how fast it goes and how long it will take; redrawn at
/// most ten times a second, and never longer than the terminal is wide.
struct ProgressBar {
    private static let widestBar = 30
    private static let narrowestBar = 8
    private let start = ContinuousClock.now
    /// What was there when the transfer began, of a download that goes on.
    private var first: Int64?
    private var lastDrawn: ContinuousClock.Instant?
    private var isDrawn = false

    mutating func show(_ progress: TransferProgress, now: ContinuousClock.Instant = .now) {
        let first = first ?? progress.completed
        self.first = first
        let isLast = progress.fraction == 1
        guard isLast || lastDrawn.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        lastDrawn = now
        // A terminal that is stopped shows a later state once it goes on.
        guard StandardStreams.canBeWritten(Workplace.current.error) else { return }
        isDrawn = true
        let seconds = start.duration(to: now) / .seconds(1)
        let rate = seconds >= 0.5 ? Double(progress.completed - first) / seconds : nil
        let line = Self.line(progress, rate: rate, columns: Self.columns)
        Workplace.current.write(Array("\r\u{1b}[K\(line)".utf8), to: Workplace.current.error)
    }

    /// Leaves the cursor on a line of its own.
    func end() { if isDrawn { StandardStreams.error("") } }

    /// Of the terminal; 80 if it does not say.
    private static var columns: Int {
        var size = winsize()
        guard ioctl(Workplace.current.error, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// What fits: the parts from the left, and a bar if there is room for one.
    ///
    /// - Parameters:
    ///   - rate: bytes a second; nil if it is not known yet.
    ///   - columns: of the terminal, whose last one stays free, so that it does not break the line.
    static func line(_ progress: TransferProgress, rate: Double?, columns: Int) -> String {
        let room = max(1, columns - 1)
        var text = ""
        for part in parts(progress, rate) where text.count + part.count <= room { text += part }
        guard let fraction = progress.fraction else { return text }
        let width = min(widestBar, room - text.count - 3)
        guard width >= narrowestBar else { return text }
        let filled = Int(min(1, max(0, fraction)) * Double(width))
        return "[\(String(repeating: "=", count: filled))\(String(repeating: " ", count: width - filled))] \(text)"
    }

    /// The most important first.
    private static func parts(_ progress: TransferProgress, _ rate: Double?) -> [String] {
        let speed = rate.map { ["  \(bytes(Int64($0)))/s"] } ?? []
        guard let fraction = progress.fraction, let total = progress.total else {
            return [bytes(progress.completed)] + speed
        }
        let percent = "\(Int(fraction * 100)) %"
        let amount = "  \(bytes(progress.completed)) of \(bytes(total))"
        guard let rate, rate >= 1, progress.completed < total else { return [percent, amount] + speed }
        return [percent, amount] + speed + ["  \(time(Double(total - progress.completed) / rate)) left"]
    }

    /// `12 s`, `3:05`, `1:02:03`.
    private static func time(_ seconds: Double) -> String {
        let count = Int(min(seconds.rounded(.up), 359_999))
        let (hours, minutes, rest) = (count / 3600, count / 60 % 60, count % 60)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if hours > 0 { return "\(hours):\(two(minutes)):\(two(rest))" }
        return minutes > 0 ? "\(minutes):\(two(rest))" : "\(rest) s"
    }

    /// `12 B`, `3.4 KiB`, `1.0 GiB`.
    static func bytes(_ count: Int64) -> String {
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
