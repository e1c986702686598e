import SallyportBase
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct WaiterTests {
    private let waiting = Lock<[UInt64: Waiter<String>]>([:])

    @concurrent private func wait(knowing known: String? = nil) async -> String {
        await waiting.wait(orCancelled: "cancelled") { waiting, waiter in
            if let known { return known }
            waiting[waiter.number] = waiter
            return nil
        } leave: { waiting, number in
            waiting.removeValue(forKey: number)
        }
    }

    private func resumeAll() {
        let all = waiting.withLock { waiting in
            defer { waiting = [:] }
            return Array(waiting.values)
        }
        for waiter in all { waiter.resume(returning: "came") }
    }

    @Test func aKnownValueIsReturnedWithoutWaiting() async {
        #expect(await wait(knowing: "known") == "known")
    }

    @Test func aWaitingTaskGetsTheValue() async throws {
        async let first = wait()
        async let second = wait()
        #expect(try await eventually { waiting.withLock { $0.count } == 2 })
        resumeAll()
        #expect(await [first, second] == ["came", "came"])
    }

    @Test func onlyTheCancelledTaskStopsWaiting() async throws {
        let leaver = Task { await wait() }
        async let stayer = wait()
        #expect(try await eventually { waiting.withLock { $0.count } == 2 })
        leaver.cancel()
        #expect(await leaver.value == "cancelled")
        #expect(waiting.withLock { $0.count } == 1)
        resumeAll()
        #expect(await stayer == "came")
    }

    @Test func aTaskCancelledBeforeDoesNotWait() async {
        let task = Task {
            withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await wait(knowing: "known")
        }
        #expect(await task.value == "cancelled")
    }

    /// Cancellation and the value race: each waiter is resumed once.
    @Test func theValueAndCancellationMayComeAtOnce() async {
        for _ in 0..<2000 {
            let task = Task { await wait() }
            async let resumed: Void = Task { resumeAll() }.value
            task.cancel()
            await resumed
            let value = await task.value
            #expect(value == "came" || value == "cancelled")
        }
        #expect(waiting.withLock { $0.isEmpty })
    }
}
