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
        guard let instant else { return nanoseconds.store(.min, ordering: .relaxed) }
        // The least number stands for nil.
        nanoseconds.store(max(Self.start.duration(to: instant).wholeNanoseconds, .min + 1), ordering: .relaxed)
    }
}
