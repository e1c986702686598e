import SallyportBase
import Testing

@testable import SallyportCore

/// What all connections under one policy share of the relays' order.
@Suite struct RelayFailoverOrderTests {
    private let now = ContinuousClock.now
    private let one: Endpoint
    private let two: Endpoint
    private let three: Endpoint
    private let other: Endpoint

    init() throws {
        one = try Endpoint("one.example:443")
        two = try Endpoint("two.example:443")
        three = try Endpoint("three.example:443")
        other = try Endpoint("other.example:443")
    }

    private func failover() -> RelayFailover {
        RelayFailover([.init(one, priority: 1), .init(two, priority: 2), .init(three, priority: 3)])
    }

    @Test func oneThatFailedIsTriedLastForAWhile() {
        let failover = failover()
        #expect(failover.count == 3)
        #expect(failover.relays(now) == [one, two, three])
        failover.failed(one, now)
        #expect(failover.relays(now) == [two, three, one])
        failover.failed(two, now + .seconds(1))
        #expect(failover.relays(now + .seconds(1)) == [three, one, two])
        let end = now + FailoverOrder.penalty
        #expect(failover.relays(end + .milliseconds(1)) == [one, three, two])
        #expect(failover.relays(end + .seconds(2)) == [one, two, three])
    }

    @Test func theLastOneIsTriedLastWhateverIsKnownOfIt() {
        let failover = failover()
        failover.failed(two, now)
        #expect(failover.relays(butLast: one, now) == [three, two, one])
        #expect(failover.relays(butLast: other, now) == [one, three, two])
    }

    @Test func aRelayOfAnotherClusterIsNone() {
        let failover = failover()
        failover.failed(other, now)
        #expect(failover.relays(now) == [one, two, three])
    }
}
