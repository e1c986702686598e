import Foundation
import SallyportWire
import Testing

@testable import SallyportGateway

@Suite struct RateLimiterTests {
    private let now = Date(timeIntervalSince1970: 1_000)

    private func taken(
        _ limiter: inout RateLimiter<Int>, of source: Int, _ count: Int, after seconds: Double = 0
    ) -> Int {
        (0..<count).reduce(0) { sum, _ in limiter.takes(source, at: now + seconds) ? sum + 1 : sum }
    }

    @Test func aSourceMayAskOftenButNotForEver() {
        var limiter = RateLimiter<Int>(.queries)
        #expect(taken(&limiter, of: 1, 150) == 100)
        #expect(taken(&limiter, of: 2, 1) == 1)
        #expect(taken(&limiter, of: 1, 2, after: 0.06) == 1)
        #expect(taken(&limiter, of: 1, 150, after: 60) == 100)
    }

    @Test func turnsComeInOrderAndNotTooLate() {
        var limiter = RateLimiter<Int>(RatePace(burst: 2, rate: 10))
        let waits = (0..<6).map { _ in limiter.turn(of: 1, within: 0.3, at: now) }
        #expect(waits == [0, 0, 0.1, 0.2, 0.3, nil])
        #expect(limiter.turn(of: 2, within: 0.3, at: now) == 0)
        #expect(limiter.turn(of: 1, within: 0.3, at: now + 10) == 0)
        // The clock was an hour ahead, and is set right: what is refused then does not last an hour.
        var ahead = RateLimiter<Int>(RatePace(burst: 1, rate: 1))
        #expect(ahead.turn(of: 1, within: 0, at: now + 3600) == 0)
        #expect(ahead.turn(of: 1, within: 0, at: now) == nil)
        #expect(ahead.turn(of: 1, within: 0, at: now + 2) == 0)
    }

    @Test func aRefusedSourceIsToldHowLongToWait() async throws {
        let limiter = SharedLimiter<Int>(RatePace(burst: 2, rate: 0.1))
        for _ in 0..<2 { try await limiter.take(1, at: now, or: "enough") }
        let error = await #expect(throws: GatewayError.self) { try await limiter.take(1, at: now, or: "enough") }
        #expect(error?.code == .limited && error?.retryAfter == 10 && error?.message == "enough")
        let later = await #expect(throws: GatewayError.self) { try await limiter.take(1, at: now + 7.5, or: "enough") }
        #expect(later?.retryAfter == 3)
        try await limiter.take(1, at: now + 11, or: "enough")
    }

    @Test func whatIsGivenBackCountsForNothing() {
        var limiter = RateLimiter<Int>(RatePace(burst: 1, rate: 0.1))
        #expect(taken(&limiter, of: 1, 1) == 1)
        limiter.charges(1, -1)
        #expect(taken(&limiter, of: 1, 2) == 1)
    }

    @Test func higherCostsAreChargedAfterwards() {
        var limiter = RateLimiter<Int>(.queries)
        #expect(taken(&limiter, of: 1, 1) == 1)
        limiter.charges(1, 110)
        #expect(taken(&limiter, of: 1, 1) == 0)
        #expect(taken(&limiter, of: 1, 10, after: 1) == 9)
    }

    /// A great number of sources must neither fill the memory nor escape the limit.
    @Test func sourcesBeyondTheLimitShareOneBucket() {
        var limiter = RateLimiter<Int>(.queries)
        for source in 0..<RateLimiter<Int>.sources { _ = limiter.takes(source, at: now) }
        let strangers = (0..<150).count { limiter.takes(1_000_000 + $0, at: now) }
        #expect(strangers == 100)
        #expect(taken(&limiter, of: 7, 1) == 1)
        // Buckets that are full again make room.
        #expect(taken(&limiter, of: 2_000_000, 150, after: 10) == 100)
        #expect(taken(&limiter, of: 2_000_001, 150, after: 10) == 100)
    }
}
