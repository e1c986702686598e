import SallyportBase
import SallyportEventLoop
import Testing

/// What takes a part of its work in each turn of a loop.
@Suite(.timeLimit(.minutes(1)))
struct NextTurnTests {
    /// Asks for the next turn as often as it is told to. On the loop only.
    private final class Taker: TurnTaker {
        var isTurnDue = false
        private let loop: EventLoop
        private var turns: Int
        private let took: () -> Void

        init(_ loop: EventLoop, turns: Int, _ took: @escaping () -> Void) {
            (self.loop, self.turns, self.took) = (loop, turns, took)
        }

        func takeTurn() {
            took()
            turns -= 1
            if turns > 0 { loop.callNextTurn(self) }
        }
    }

    @Test func aTakerIsCalledAfterTheLookAtTheDescriptors() async {
        let (loop, pipe, order) = (EventLoop(name: "test"), Pipe(), Lock<[String]>([]))
        loop.execute {
            let reader = Reader {
                order.withLock { $0.append("descriptor") }
                pipe.drain()
            }
            loop.watch(pipe.reader, for: .read, handler: reader)
            pipe.send()
            loop.callNextTurn(Taker(loop, turns: 1) { order.withLock { $0.append("taker") } })
            order.withLock { $0.append("work") }
        }
        await loop.shutdown()
        #expect(order.withLock { $0 } == ["work", "descriptor", "taker"])
    }

    @Test func descriptorsAreLookedAtBeforeEachTurn() async {
        let (loop, pipe, counts) = (EventLoop(name: "test"), Pipe(), Lock((looks: 0, turns: 0)))
        loop.execute {
            // Never drained, so that each look finds it.
            pipe.send()
            loop.watch(pipe.reader, for: .read, handler: Reader { counts.withLock { $0.looks += 1 } })
            let taker = Taker(loop, turns: 1000) {
                let counts = counts.withLock { counts in
                    counts.turns += 1
                    return counts
                }
                #expect(counts.looks == counts.turns)
                if counts.turns == 1000 { loop.forget(pipe.reader) }
            }
            loop.callNextTurn(taker)
        }
        await loop.shutdown()
        #expect(counts.withLock { $0 } == (1000, 1000))
    }

    @Test func aTakerThatAsksTwiceIsCalledOnce() async {
        let (loop, count) = (EventLoop(name: "test"), Lock(0))
        loop.execute {
            let taker = Taker(loop, turns: 1) { count.withLock { $0 += 1 } }
            loop.callNextTurn(taker)
            loop.callNextTurn(taker)
        }
        await loop.shutdown()
        #expect(count.withLock { $0 } == 1)
    }

    @Test func workRunsBetweenTwoTurns() async {
        let (loop, counts) = (EventLoop(name: "test"), Lock((work: 0, turns: 0)))
        loop.execute {
            let taker = Taker(loop, turns: 100) {
                let counts = counts.withLock { counts in
                    counts.turns += 1
                    return counts
                }
                #expect(counts.work == counts.turns - 1)
                loop.execute { increment() }
            }
            loop.callNextTurn(taker)
        }
        await loop.shutdown()
        #expect(counts.withLock { $0 } == (100, 100))

        @Sendable func increment() { counts.withLock { $0.work += 1 } }
    }
}
