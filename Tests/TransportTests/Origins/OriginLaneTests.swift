import Testing

@testable import SallyportTransport

struct OriginLaneTests {
    private func full(_ count: Int, limit: Int) -> OriginLane<Int> {
        var lane = OriginLane<Int>()
        for waiter in 0..<count { _ = lane.arrived(waiter, limit: limit) }
        return lane
    }

    private func expectNext(_ expected: Int?, _ lane: inout OriginLane<Int>, line: Int = #line) {
        let next = lane.nextAdmitted()
        #expect(next == expected, "line \(line)")
    }

    @Test func asManyGoOnAsTheLimitSaysAndTheRestInTheirOrder() {
        var lane = full(9, limit: 6)
        expectNext(nil, &lane)
        for expected in 6..<9 {
            lane.ended()
            expectNext(expected, &lane)
            expectNext(nil, &lane)
        }
        for _ in 0..<6 { lane.ended() }
        #expect(lane.isForgettable)
    }

    @Test func aWaiterThatGivesUpIsSkipped() throws {
        var lane = full(1, limit: 1)
        let ticket = lane.arrived(1, limit: 1)
        _ = lane.arrived(2, limit: 1)
        lane.gaveUp(try #require(ticket))
        lane.ended()
        expectNext(2, &lane)
    }

    @Test func theMostUrgentGoesOnFirstAndEqualsInTheirOrder() {
        var lane = full(1, limit: 1)
        for (waiter, priority) in [(1, 0.2), (2, 0.8), (3, 0.8), (4, 1), (5, 0.2)] {
            _ = lane.arrived(waiter, limit: 1, urgency: Urgency(priority))
        }
        for expected in [4, 2, 3, 1, 5] {
            lane.ended()
            expectNext(expected, &lane)
            expectNext(nil, &lane)
        }
        lane.ended()
        #expect(!lane.isWaitedFor && lane.isForgettable)
    }

    @Test func aWaiterThatMovesQueuesBehindItsEquals() throws {
        var lane = full(1, limit: 1)
        let ticket = lane.arrived(1, limit: 1)
        _ = lane.arrived(2, limit: 1)
        lane.gaveUp(try #require(ticket))
        _ = lane.arrived(1, limit: 1)
        for expected in [2, 1] {
            lane.ended()
            expectNext(expected, &lane)
        }
    }

    @Test func aNewcomerDoesNotOvertakeAWaiter() {
        var lane = full(2, limit: 1)
        let ticket = lane.arrived(2, limit: 10)
        #expect(ticket != nil)
        lane.ended()
        expectNext(1, &lane)
        expectNext(2, &lane)
    }

    @Test(arguments: [0, -1, .min])
    func oneAlwaysGoesOn(_ limit: Int) {
        var lane = OriginLane<Int>()
        let tickets = [lane.arrived(0, limit: limit), lane.arrived(1, limit: limit)]
        #expect(tickets.map { $0?.number } == [nil, 0])
        lane.ended()
        expectNext(1, &lane)
    }

    @Test(arguments: [(6, 100), (300, 300)])
    func streamsShareAConnection(_ limit: Int, _ room: Int) {
        var lane = full(400, limit: limit)
        lane.learned(isMultiplexed: true)
        var admitted = min(limit, 400)
        while lane.nextAdmitted() != nil { admitted += 1 }
        #expect(admitted == room)
    }

    @Test func anOpenConnectionKeepsWhatIsKnown() {
        var lane = full(1, limit: 6)
        lane.opened()
        lane.ended()
        #expect(!lane.isForgettable)
        lane.closed()
        #expect(lane.isForgettable)
    }
}
