import Glibc
import SallyportBase
import SallyportEventLoop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    private actor Counter {
        nonisolated let loop: EventLoop
        private(set) var count = 0
        init(_ loop: EventLoop) { self.loop = loop }
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        func add() {
            preconditionIsolated()
            #expect(loop.isCurrent)
            count += 1
        }
    }

    @Test func isTheExecutorOfActors() async {
        let loop = EventLoop(name: "test")
        let counter = Counter(loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10_000 { group.addTask { await counter.add() } }
        }
        #expect(await counter.count == 10_000)
        await loop.shutdown()
    }

    @Test func isTheExecutorOfTasksThatPreferIt() async {
        let loop = EventLoop(name: "test")
        let counter = Counter(loop)
        await withTaskExecutorPreference(loop) {
            await onLoop(loop, counter)
        }
        #expect(!loop.isCurrent)
        await loop.shutdown()
    }

    @concurrent private func onLoop(_ loop: EventLoop, _ counter: Counter) async {
        #expect(loop.isCurrent)
        await counter.add()
        #expect(loop.isCurrent)
    }

    @Test func nonisolatedCallsOfTasksOnTheLoopDoNotPassThroughItsQueue() async {
        let loop = EventLoop(name: "test")
        let order = await withTaskExecutorPreference(loop) { await overtakes(loop) }
        #expect(order == ["call", "enqueued"])
        await loop.shutdown()
    }

    /// What is enqueued before the call would run first if the call were enqueued, too.
    @concurrent private func overtakes(_ loop: EventLoop) async -> [String] {
        let order = Lock<[String]>([])
        loop.execute { order.withLock { $0.append("enqueued") } }
        await note("call", in: order)
        await Task.yield()
        return order.withLock { $0 }
    }

    @concurrent private func note(_ what: String, in order: Lock<[String]>) async {
        order.withLock { $0.append(what) }
    }

    @Test func callbacksOnTheLoopAreIsolatedToItsActors() async {
        let loop = EventLoop(name: "test")
        let counter = Counter(loop)
        await withCheckedContinuation { continuation in
            loop.execute {
                counter.assumeIsolated { $0.add() }
                continuation.resume()
            }
        }
        #expect(await counter.count == 1)
        await loop.shutdown()
    }

    @Test func runsInTheOrderOfEnqueueing() async {
        let loop = EventLoop(name: "test")
        let order = Lock<[Int]>([])
        await withCheckedContinuation { continuation in
            for number in 0..<2_000 { loop.execute { order.withLock { $0.append(number) } } }
            loop.execute { continuation.resume() }
        }
        #expect(order.withLock { $0 } == Array(0..<2_000))
        await loop.shutdown()
    }

    @Test func workThatEnqueuesWorkDoesNotStarveTimers() async {
        let loop = EventLoop(name: "test")
        let isDone = Lock(false)
        @Sendable func again() {
            if !isDone.withLock({ $0 }) { loop.execute { again() } }
        }
        await withCheckedContinuation { continuation in
            loop.execute {
                let timer = LoopTimer {
                    isDone.withLock { $0 = true }
                    continuation.resume()
                }
                loop.set(timer, at: LoopInstant.now.advanced(by: .milliseconds(5)))
                again()
            }
        }
        await loop.shutdown()
    }

    @Test func timersFireInOrderAndOnlyWhenSet() async {
        let loop = EventLoop(name: "test")
        let fired = Lock<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                let timers = (0..<4).map { number in LoopTimer { fired.withLock { $0.append(number) } } }
                let now = LoopInstant.now
                loop.set(timers[0], at: now.advanced(by: .milliseconds(9)))
                loop.set(timers[1], at: now.advanced(by: .milliseconds(3)))
                loop.set(timers[2], at: now.advanced(by: .milliseconds(6)))
                loop.set(timers[3], at: now.advanced(by: .milliseconds(1)))
                loop.set(timers[3], at: nil)
                loop.set(LoopTimer { continuation.resume() }, at: now.advanced(by: .milliseconds(12)))
            }
        }
        #expect(fired.withLock { $0 } == [1, 2, 0])
        await loop.shutdown()
    }

    /// The owner of a timer that was unset may be gone.
    @Test func aTimerThatAnotherOneChangesDoesNotFireThoughBothAreDue() async {
        let loop = EventLoop(name: "test")
        let fired = Lock<[String]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                let unset = LoopTimer { fired.withLock { $0.append("unset") } }
                let moved = LoopTimer { fired.withLock { $0.append("moved") } }
                let now = LoopInstant.now
                let first = LoopTimer {
                    fired.withLock { $0.append("first") }
                    loop.set(unset, at: nil)
                    loop.set(moved, at: now.advanced(by: .milliseconds(8)))
                    loop.set(LoopTimer { continuation.resume() }, at: now.advanced(by: .milliseconds(12)))
                }
                loop.set(first, at: now.advanced(by: .milliseconds(1)))
                loop.set(unset, at: now.advanced(by: .milliseconds(2)))
                loop.set(moved, at: now.advanced(by: .milliseconds(3)))
                while LoopInstant.now < now.advanced(by: .milliseconds(4)) {}
            }
        }
        #expect(fired.withLock { $0 } == ["first", "moved"])
        await loop.shutdown()
    }

    @Test func shutdownRunsWhatWasEnqueuedAndIsIdempotent() async {
        for _ in 0..<60 {
            let loop = EventLoop(name: "test")
            let count = Lock(0)
            for _ in 0..<100 { loop.execute { loop.execute { count.withLock { $0 += 1 } } } }
            async let first: Void = loop.shutdown()
            async let second: Void = loop.shutdown()
            _ = await (first, second)
            await loop.shutdown()
            #expect(count.withLock { $0 } == 100)
        }
    }

    @Test func aGroupHandsItsLoopsOutInTurn() async {
        let group = EventLoopGroup(count: 2, name: "test")
        #expect(group.next() !== group.next())
        #expect(group.current == nil)
        await group.shutdown()
    }

    @Test func tellsOfReadinessAndForgets() async throws {
        let loop = EventLoop(name: "test")
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                let probe = Probe(loop) { continuation.resume(returning: $0) }
                loop.watch(reader, for: .read, handler: probe)
                _ = write(writer, "x", 1)
            }
        }
        #expect(result.contains(.read))
        await loop.shutdown()
        close(reader)
        close(writer)
    }

    @Test func aDescriptorIsQuietUntilItIsReady() async throws {
        let loop = EventLoop(name: "test")
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let quiet = Lock<[Bool]>([])
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Interest, Never>) in
            loop.execute {
                let probe = Probe(loop) { continuation.resume(returning: $0) }
                loop.watch(reader, for: .read, handler: probe)
                for text in ["", "x"] {
                    _ = write(writer, text, text.utf8.count)
                    // Longer than a look is trusted.
                    usleep(2000)
                    let isQuiet = loop.isQuiet(reader)
                    quiet.withLock { $0.append(isQuiet) }
                }
            }
        }
        #expect(quiet.withLock { $0 } == [true, false])
        #expect(result.contains(.read))
        await loop.shutdown()
        close(reader)
        close(writer)
    }

    private final class Probe: DescriptorHandler {
        private let loop: EventLoop
        private let body: (Interest) -> Void
        init(_ loop: EventLoop, _ body: @escaping (Interest) -> Void) {
            self.loop = loop
            self.body = body
        }
        func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
            loop.forget(descriptor)
            body(readiness)
        }
    }
}
