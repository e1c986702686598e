import SallyportBase
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct DetachedTasksTests {
    private let tasks = DetachedTasks()
    private let ended = Lock<[Bool]>([])

    /// Runs until it is cancelled, and tells whether it was.
    @Sendable private func linger() async {
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
        // What comes after the cancellation is waited for, too.
        for _ in 0..<10 { await Task.yield() }
        ended.withLock { $0.append(true) }
    }

    @Test func theEndCancelsAllAndWaitsForThem() async {
        for _ in 0..<100 { tasks.begin(linger) }
        await tasks.shutdown()
        #expect(ended.withLock { $0.count } == 100)
        await tasks.shutdown()
    }

    @Test func tasksStartedAfterShutdownAreCancelledFromTheirStart() async throws {
        await tasks.shutdown()
        let wasCancelled = Lock<Bool?>(nil)
        tasks.begin { wasCancelled.withLock { $0 = Task.isCancelled } }
        #expect(try await eventually { wasCancelled.withLock { $0 } == true })
    }

    @Test func atTheLimitAndAfterTheEndNoneBegins() async throws {
        let gate = Signal()
        #expect(tasks.begin(atMost: 1) { await gate.wait() })
        #expect(!tasks.begin(atMost: 1) { Issue.record("It ran.") })
        gate.fire()
        // The place of one that has ended is free.
        #expect(try await eventually { tasks.begin(atMost: 1) {} })
        await tasks.shutdown()
        #expect(!tasks.begin(atMost: 1) { Issue.record("It ran.") })
    }
}
