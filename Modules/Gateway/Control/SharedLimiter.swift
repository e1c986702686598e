internal import Foundation

/// A rate limiter that many requests share.
actor SharedLimiter<Source: Hashable & Sendable> {
    private var limiter: RateLimiter<Source>

    init(_ pace: RatePace) { limiter = RateLimiter(pace) }

    /// Whether another request may be answered.
    func takes(_ source: Source, at now: Date) -> Bool { limiter.takes(source, at: now) }

    /// Counts a request that may be answered.
    ///
    /// - Throws: `limited` for one that may not, with the time to wait.
    func take(_ source: Source, at now: Date, or refusal: String) throws(GatewayError) {
        try limiter.take(source, at: now, or: refusal)
    }

    /// How many seconds another request must wait for its turn; nil if that is longer than `patience`.
    func turn(of source: Source, within patience: Double, at now: Date) -> Double? {
        limiter.turn(of: source, within: patience, at: now)
    }

    /// Charges a source more, once the cost of its request is known.
    func charges(_ source: Source, _ price: Double) { limiter.charges(source, price) }
}
