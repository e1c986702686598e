import Glibc
import SallyportBase
import SallyportEventLoop
import Testing

/// Turns of a loop on another thread, while the loop's own sleeps.
@Suite(.timeLimit(.minutes(1)))
struct BorrowedLoopTests {
    /// Tries until the loop's thread sleeps.
    private func borrow<Result>(_ loop: EventLoop, _ body: () -> Result) -> Result {
        while true {
            if let result = loop.runIfAsleep(body) { return result }
            usleep(100)
        }
    }

    @Test func aTurnOnTheCallersThreadIsOneOfTheLoops() async {
        let loop = EventLoop(name: "test")
        let turn = borrow(loop) { () -> (isCurrent: Bool, isNested: Bool) in
            (loop.isCurrent, loop.runIfAsleep {} != nil)
        }
        #expect(turn == (true, false))
        #expect(!loop.isCurrent)
        await loop.shutdown()
    }

    @Test func aLoopThatIsAwakeIsNotBorrowed() async {
        let loop = EventLoop(name: "test")
        let (isBusy, isTried) = (Gate(), Gate())
        loop.execute {
            isBusy.open()
            isTried.wait()
        }
        isBusy.wait()
        #expect(loop.runIfAsleep {} == nil)
        isTried.open()
        await loop.shutdown()
        #expect(loop.runIfAsleep {} == nil)
    }

    @Test func workThatATurnEnqueuesRunsOnTheLoopsOwnThread() async {
        let loop = EventLoop(name: "test")
        let threads = Lock<[UInt]>([])
        let own = await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: pthread_self()) }
        }
        await withCheckedContinuation { continuation in
            borrow(loop) {
                loop.execute {
                    threads.withLock { $0.append(pthread_self()) }
                    continuation.resume()
                }
            }
        }
        #expect(threads.withLock { $0 } == [own])
        await loop.shutdown()
    }

    @Test func theTurnsEndIsReportedBeforeTheLoopIsGivenBack() async {
        let loop = EventLoop(name: "test")
        var ends = 0
        borrow(loop) { loop.callAtEndOfTurn(Observer { ends += 1 }) }
        #expect(ends == 1)
        await loop.shutdown()
    }

    @Test func whatIsLeftForAnotherTurnIsDoneByTheLoopsThread() async {
        let loop = EventLoop(name: "test")
        await withCheckedContinuation { continuation in
            let second = Observer { continuation.resume() }
            borrow(loop) { loop.callAtEndOfTurn(Observer { loop.callAtEndOfTurn(second) }) }
        }
        await loop.shutdown()
    }

    @Test func aTimerSetInABorrowedTurnFires() async {
        let loop = EventLoop(name: "test")
        await withCheckedContinuation { continuation in
            let timer = LoopTimer { continuation.resume() }
            borrow(loop) { loop.set(timer, at: .now.advanced(by: .milliseconds(2))) }
        }
        await loop.shutdown()
    }

    @Test func aDescriptorWatchedInABorrowedTurnIsReported() async {
        let (loop, pipe) = (EventLoop(name: "test"), Pipe())
        await withCheckedContinuation { continuation in
            let reader = Reader {
                loop.forget(pipe.reader)
                continuation.resume()
            }
            borrow(loop) { loop.watch(pipe.reader, for: .read, handler: reader) }
            pipe.send()
        }
        await loop.shutdown()
    }

    /// The loop's thread wakes in the middle of the turn, and must not have the loop before it is given back.
    @Test func anEventThatComesDuringATurnIsHandledAfterIt() async {
        let (loop, pipe) = (EventLoop(name: "test"), Pipe())
        for _ in 0..<200 {
            await withCheckedContinuation { continuation in
                var isTurnOver = false
                let reader = Reader {
                    #expect(isTurnOver)
                    pipe.drain()
                    loop.forget(pipe.reader)
                    continuation.resume()
                }
                borrow(loop) {
                    loop.watch(pipe.reader, for: .read, handler: reader)
                    pipe.send()
                    usleep(200)
                    isTurnOver = true
                }
            }
        }
        await loop.shutdown()
    }

    /// A count without a lock of its own, changed by turns on many threads and by work on the loop.
    @Test func oneThreadHasTheLoopAtATime() async {
        let loop = EventLoop(name: "test")
        let count = LoopOwned()
        var (rounds, borrowed) = (0, 0)
        // A loop's thread that always has work does not sleep, and lends nothing.
        while borrowed == 0, rounds < 100 {
            rounds += 1
            borrowed += await change(count, on: loop)
        }
        await loop.shutdown()
        #expect(count.value == rounds * 20_000)
        #expect(borrowed > 0)
    }

    /// - Returns: how many of 20,000 changes were made by borrowers.
    private func change(_ count: LoopOwned, on loop: EventLoop) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var borrowed = 0
                    for _ in 0..<5_000 {
                        if loop.runIfAsleep({ count.add() }) != nil {
                            borrowed += 1
                        } else {
                            loop.execute { count.add() }
                        }
                    }
                    return borrowed
                }
            }
            return await group.reduce(0, +)
        }
    }
}

// SAFETY: used only by the thread that has a loop, and after the loop's end.
private final class LoopOwned: @unchecked Sendable {
    private(set) var value = 0
    func add() { value += 1 }
}

/// Lets threads wait for each other.
private final class Gate: Sendable {
    private let isOpen = Lock(false)
    func open() { isOpen.withLock { $0 = true } }
    func wait() { while !isOpen.withLock({ $0 }) { usleep(100) } }
}
