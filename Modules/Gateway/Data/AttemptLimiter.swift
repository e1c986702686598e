internal import Foundation

/// Slows wrong access keys down to one a second a source.
struct AttemptLimiter: Sendable {
    private var last: [String: Date] = [:]

    /// Whether a source tried wrongly less than a second ago.
    func isBarred(_ source: String, at now: Date) -> Bool {
        last[source].map { now.timeIntervalSince($0) < 1 } ?? false
    }

    mutating func failed(_ source: String, at now: Date) {
        if last.count >= 10_000 { last = last.filter { now.timeIntervalSince($0.value) < 1 } }
        last[source] = now
    }
}
