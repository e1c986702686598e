internal import Foundation

/// The rate at which one source may make requests.
struct RatePace: Sendable {
    /// Requests at once.
    let burst: Double
    /// Requests per second in the long run.
    let rate: Double

    /// Fetches of the configuration by one instance: a client fetches once for each hint, one fetch at a time.
    static let configurations = RatePace(burst: 20, rate: 10)
    /// Renewals of certificates by one instance, which renews every few days.
    static let renewals = RatePace(burst: 20, rate: 0.1)
    /// Other versions of the app than the one before, by one instance: each is a commit that the whole fleet hears of.
    static let versions = RatePace(burst: 20, rate: 0.1)
    /// Name look-ups by one instance.
    static let queries = RatePace(burst: 100, rate: 20)
    /// Token requests by one instance.
    static let tokens = RatePace(burst: 200, rate: 50)
    /// Token verifications by one address. An invalid token counts as ten: an app server mostly sends valid ones.
    static let verifications = RatePace(burst: 4000, rate: 2000)
    static let priceOfMalformed = 10.0
    /// Batches of access events from one relay, which sends one after the other.
    static let batches = RatePace(burst: 20, rate: 5)
    /// Wrong access keys from one network. Right ones are not counted.
    static let wrongTries = RatePace(burst: 1, rate: 1)
    /// Renewals of certificates by one relay, which renews every two months, and changes of its port. Each is written into
    /// the audit trail's chain of administration: a relay must not be able to push out what administrators have done.
    static let relayRenewals = RatePace(burst: 10, rate: 10.0 / 3600)
    static let relayPorts = RatePace(burst: 10, rate: 10.0 / 3600)
}

/// Limits the rate of sources: each has a token bucket.
struct RateLimiter<Source: Hashable & Sendable>: Sendable {
    /// The most sources that are tracked. Beyond that, full buckets are dropped, at most once a second; sources that
    /// arrive while there is no room share one bucket.
    static var sources: Int { 10_000 }

    private struct Bucket {
        var left: Double
        var at: Date
    }

    private let pace: RatePace
    private var buckets: [Source: Bucket] = [:]
    private var shared: Bucket?
    private var swept = Date.distantPast

    init(_ pace: RatePace) { self.pace = pace }

    /// Whether another request may be answered.
    ///
    /// - Parameter price: the cost that is charged if it may.
    mutating func takes(_ source: Source, price: Double = 1, at now: Date) -> Bool {
        let hasRoom = buckets[source] != nil || makesRoom(at: now)
        let left = left(in: hasRoom ? buckets[source] : shared, at: now)
        let bucket = Bucket(left: left >= 1 ? left - price : left, at: now)
        if hasRoom { buckets[source] = bucket } else { shared = bucket }
        return left >= 1
    }

    /// Counts a request that may be answered.
    ///
    /// - Throws: `limited` for one that may not, with the time to wait.
    mutating func take(_ source: Source, at now: Date, or refusal: String) throws(GatewayError) {
        guard !takes(source, at: now) else { return }
        throw GatewayError(.limited, refusal, retryAfter: Int(wait(of: source, at: now).rounded(.up)))
    }

    /// How many seconds another request must wait for its turn; nil if that is longer than `patience`, and then it is
    /// not counted.
    mutating func turn(of source: Source, within patience: Double, at now: Date) -> Double? {
        let hasRoom = buckets[source] != nil || makesRoom(at: now)
        let left = left(in: hasRoom ? buckets[source] : shared, at: now)
        let wait = max(0, 1 - left) / pace.rate
        let isTaken = wait <= patience
        // Also kept if it is refused: after the clock was set back, it fills from the present time on.
        let bucket = Bucket(left: isTaken ? left - 1 : left, at: now)
        if hasRoom { buckets[source] = bucket } else { shared = bucket }
        return isTaken ? wait : nil
    }

    /// How many seconds it takes until another request may be answered, if none is answered meanwhile.
    func wait(of source: Source, at now: Date) -> Double {
        max(0, 1 - left(in: buckets[source] ?? shared, at: now)) / pace.rate
    }

    /// Charges a source more, once the cost of its request is known. A negative price gives back what was charged.
    mutating func charges(_ source: Source, _ price: Double) {
        if buckets[source] != nil { buckets[source]?.left -= price } else { shared?.left -= price }
    }

    private func left(in bucket: Bucket?, at now: Date) -> Double {
        guard let bucket else { return pace.burst }
        return min(pace.burst, bucket.left + max(0, now.timeIntervalSince(bucket.at)) * pace.rate)
    }

    private mutating func makesRoom(at now: Date) -> Bool {
        guard buckets.count >= Self.sources else { return true }
        guard abs(now.timeIntervalSince(swept)) >= 1 else { return false }
        swept = now
        buckets = buckets.filter { left(in: $0.value, at: now) < pace.burst }
        return buckets.count < Self.sources
    }
}
