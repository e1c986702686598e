internal import Synchronization

/// A time that any thread sets and reads without waiting, to the nanosecond.
package struct PublishedInstant: ~Copyable, Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// Atomics hold integers: nanoseconds are counted from here.
    private static let start = Instant.now

    private let nanoseconds = Atomic<Int64>(.min)

    package init() {}

    /// Nil until a time is set, and after nil was set.
    package var value: Instant? {
        let known = nanoseconds.load(ordering: .relaxed)
        return known == .min ? nil : Self.start.advanced(by: .nanoseconds(known))
    }

    /// - Parameter instant: at most some 292 years from now; the nearest such time otherwise.
    package func set(_ instant: Instant?) {
        nanoseconds.store(instant.map(Self.nanoseconds) ?? .min, ordering: .relaxed)
    }

    private static func nanoseconds(to instant: Instant) -> Int64 {
        let (seconds, attoseconds) = start.duration(to: instant).components
        let (whole, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isBeyond) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !isTooFar, !isBeyond else { return seconds < 0 ? .min + 1 : .max }
        return max(sum, .min + 1)
    }
}
