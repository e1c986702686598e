internal import Foundation

/// A limiter that many requests ask at once.
actor SharedLimiter<Source: Hashable & Sendable> {
    private var limiter: RateLimiter<Source>

    init(_ pace: RatePace) { limiter = RateLimiter(pace) }

    /// Whether one more may be answered.
    func takes(_ source: Source, at now: Date) -> Bool { limiter.takes(source, at: now) }

    /// How many seconds one more has to wait for its turn; nil where that is longer than `patience`.
    func turn(of source: Source, within patience: Double, at now: Date) -> Double? {
        limiter.turn(of: source, within: patience, at: now)
    }

    /// Takes more from a source, once it is known what it asked for.
    func charges(_ source: Source, _ price: Double) { limiter.charges(source, price) }
}
