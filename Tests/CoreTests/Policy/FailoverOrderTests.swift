import SallyportCore
import Testing

@Suite struct FailoverOrderTests {
    private struct Server: Hashable {
        let endpoint: Endpoint
        let priority: Int
    }

    private let start = ContinuousClock.now
    private let servers: [Server]

    init() throws {
        servers = try (0..<9).map { Server(endpoint: try Endpoint("s\($0).example:1"), priority: $0 / 3 + 1) }
    }

    private func order(seed: UInt64 = 1, of servers: [Server]? = nil) -> FailoverOrder {
        var generator = SeededGenerator(seed: seed)
        return FailoverOrder(servers ?? self.servers, endpoint: \.endpoint, priority: \.priority) {
            $0.shuffled(using: &generator)
        }
    }

    private func priority(_ endpoint: Endpoint) -> Int { servers.first { $0.endpoint == endpoint }?.priority ?? 0 }

    @Test func lowerPrioritiesComeFirstAndTheOrderStays() {
        let order = order()
        let first = order.order(at: start)
        #expect(first.map(priority) == [1, 1, 1, 2, 2, 2, 3, 3, 3])
        #expect(order.order(at: start + .seconds(100)) == first)
    }

    @Test func eachClientHasAnOrderOfItsOwnAmongEquals() {
        let firsts = Set((0..<50).compactMap { order(seed: $0).order(at: start).first })
        #expect(firsts == Set(servers.prefix(3).map(\.endpoint)))
    }

    @Test func oneThatFailedIsLastForThirtySeconds() throws {
        var order = order()
        let drawn = order.order(at: start)
        order.failed(drawn[0], at: start)
        #expect(order.order(at: start) == Array(drawn.dropFirst()) + [drawn[0]])
        let end = start + FailoverOrder.penalty
        #expect(order.order(at: end - .milliseconds(1)).last == drawn[0])
        #expect(order.order(at: end) == drawn)
    }

    @Test func theTimeMayBeGivenForEach() {
        var order = order()
        let drawn = order.order(at: start)
        order.failed(drawn[0], at: start, for: .seconds(90))
        order.failed(drawn[1], at: start + .seconds(1))
        #expect(Array(order.order(at: start + .seconds(30)).suffix(2)) == [drawn[1], drawn[0]])
        #expect(order.order(at: start + .seconds(89)).last == drawn[0])
        #expect(order.order(at: start + .seconds(90)) == drawn)
    }

    @Test func ofThoseThatFailedTheOneThatFailedFirstIsTriedFirst() {
        var order = order()
        let drawn = order.order(at: start)
        for (index, server) in drawn.reversed().enumerated() { order.failed(server, at: start + .seconds(index)) }
        #expect(order.order(at: start + .seconds(10)) == drawn.reversed())
        #expect(!order.hasFresh(at: start + .seconds(10)))
        #expect(order.hasFresh(at: start + .seconds(31)))
        let early = start + .milliseconds(30_500)
        #expect(order.hasFresh(at: early) && !order.hasFresh(at: early, besides: drawn.last))
    }

    @Test func oneThatAnswersIsTriedInItsTurnAgain() {
        var order = order()
        let drawn = order.order(at: start)
        order.failed(drawn[0], at: start)
        order.answered(drawn[0])
        #expect(order.order(at: start) == drawn)
    }

    @Test func whatIsKnownOfServersOutlivesAChangeOfThem() throws {
        var old = order()
        let failed = servers[0].endpoint
        old.failed(failed, at: start)
        var new = order(of: Array(servers.prefix(2)))
        new.takeFailures(of: old)
        #expect(new.order(at: start).last == failed)
    }

    @Test func aStrangerAndNoServersDoNoHarm() throws {
        var empty = FailoverOrder()
        empty.failed(try Endpoint("a.example:1"), at: start)
        #expect(empty.order(at: start).isEmpty && !empty.hasFresh(at: start))
        #expect(order(of: [servers[0], servers[0]]).count == 1)
    }
}
