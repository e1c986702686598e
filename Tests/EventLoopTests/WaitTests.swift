import Glibc
import SallyportBase
import SallyportEventLoop
import TestSupport
import Testing

/// How a loop's thread waits for descriptors. After a brief wait that found one descriptor, the next wait has a limit of a
/// few milliseconds, and goes on without a limit if nothing has come by then.
@Suite(.timeLimit(.minutes(1)))
struct WaitTests {
    /// Has a name of its own, by which its thread is told from others.
    private let loop = EventLoop(name: "w\(UInt32.random(in: 0 ... .max))")
    private let pipe = Pipe()
    private let handled = Lock(0)

    private func onLoop<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
    }

    private func watch() async {
        await onLoop { [loop, pipe, handled] in
            let reader = Reader {
                pipe.drain()
                handled.withLock { $0 += 1 }
            }
            loop.watch(pipe.reader, for: .read, handler: reader)
        }
    }

    /// Makes the descriptor ready `count` times, each time after a pause, and waits until the loop has handled it.
    private func makeReady(_ count: Int, after microseconds: UInt32) {
        for _ in 0..<count {
            usleep(microseconds)
            let before = handled.withLock { $0 }
            pipe.send()
            while handled.withLock({ $0 }) == before { usleep(20) }
        }
    }

    /// How often the loop's thread has slept.
    private func sleeps() throws -> Int { try ThreadSleeps.count(of: loop.name) }

    @Test func eventsAreHandledAfterBriefAndLongWaits() async {
        await watch()
        makeReady(20, after: 200)
        makeReady(3, after: 12_000)
        makeReady(20, after: 200)
        makeReady(3, after: 5_000)
        #expect(handled.withLock { $0 } == 46)
        await loop.shutdown()
    }

    @Test func anIdleLoopSleepsOnAfterABriefWait() async throws {
        await watch()
        makeReady(20, after: 200)
        let before = try sleeps()
        // The limit of the wait before wakes the thread.
        usleep(200_000)
        #expect(try sleeps() - before <= 6)
        await loop.shutdown()
    }

    @Test func slowPeersCauseNoMoreWakeUpsThanEvents() async throws {
        await watch()
        makeReady(20, after: 200)
        let before = try sleeps()
        makeReady(10, after: 12_000)
        #expect(try sleeps() - before <= 15)
        await loop.shutdown()
    }
}
