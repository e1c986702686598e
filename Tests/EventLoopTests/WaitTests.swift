import Glibc
import SallyportBase
import SallyportEventLoop
import Testing

/// How a loop's thread waits for descriptors. After a brief wait that found one descriptor, the next wait has a limit of a
/// few milliseconds, and goes on without a limit if nothing has come by then.
@Suite(.timeLimit(.minutes(1)))
struct WaitTests {
    private let loop = EventLoop(name: "waits")
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
    private func sleeps() async -> Int {
        await onLoop {
            var usage = rusage()
            // RUSAGE_THREAD, which glibc's module hides.
            getrusage(1, &usage)
            return usage.ru_nvcsw
        }
    }

    @Test func eventsAreHandledAfterBriefAndLongWaits() async {
        await watch()
        makeReady(20, after: 200)
        makeReady(3, after: 12_000)
        makeReady(20, after: 200)
        makeReady(3, after: 5_000)
        #expect(handled.withLock { $0 } == 46)
        await loop.shutdown()
    }

    @Test func anIdleLoopSleepsOnAfterABriefWait() async {
        await watch()
        makeReady(20, after: 200)
        let before = await sleeps()
        // Asking for the count wakes the thread, and so does the limit of the wait before.
        usleep(200_000)
        #expect(await sleeps() - before <= 6)
        await loop.shutdown()
    }

    @Test func slowPeersCauseNoMoreWakeUpsThanEvents() async {
        await watch()
        makeReady(20, after: 200)
        let before = await sleeps()
        makeReady(10, after: 12_000)
        #expect(await sleeps() - before <= 15)
        await loop.shutdown()
    }
}
