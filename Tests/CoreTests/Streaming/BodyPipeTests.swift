import TestSupport
import Testing

@testable internal import SallyportBase
@testable internal import SallyportCore
@testable package import SallyportLoading

@Suite(.timeLimit(.minutes(1))) struct BodyPipeTests {
    private struct Calls {
        var room = 0
        var bytes = 0
        var discards = 0
    }

    private func pipe(low: Int = 2, high: Int = 4) -> (BodyPipe, Lock<Calls>) {
        let calls = Lock(Calls())
        let hooks = BodyPipe.Hooks(
            hasRoom: { calls.withLock { $0.room += 1 } }, hasBytes: { calls.withLock { $0.bytes += 1 } },
            wasDiscarded: { calls.withLock { $0.discards += 1 } })
        return (BodyPipe(watermarks: .init(low: low, high: high), hooks: hooks), calls)
    }

    // MARK: The loop's side

    @Test func aProducerThatFilledThePipeIsToldOnceOfRoom() {
        let (pipe, calls) = pipe()
        #expect(pipe.push([1, 2, 3]) == .more)
        #expect(pipe.push([4]) == .full)
        #expect(pipe.take(upTo: 3) == .bytes([1, 2, 3]))
        #expect(calls.withLock { $0.room } == 1)
        #expect(pipe.take(upTo: 3) == .bytes([4]))
        #expect(calls.withLock { $0.room } == 1)
    }

    @Test func aConsumerThatFoundNothingIsToldOnceOfBytes() {
        let (pipe, calls) = pipe()
        #expect(pipe.take(upTo: 1) == .empty)
        #expect(pipe.push([1]) == .more)
        #expect(pipe.push([2]) == .more)
        #expect(calls.withLock { $0.bytes } == 1)
        pipe.finish()
        #expect(calls.withLock { $0.bytes } == 1)
    }

    @Test func theEndIsToldToAConsumerThatFoundNothing() {
        let (pipe, calls) = pipe()
        #expect(pipe.take(upTo: 1) == .empty)
        pipe.finish()
        #expect(calls.withLock { $0.bytes } == 1)
        #expect(pipe.take(upTo: 1) == .end)
        #expect(pipe.take(upTo: 1) == .end)
    }

    @Test func aTaskThatWaitsGetsNoMoreThanItAskedFor() async throws {
        let (pipe, _) = pipe(low: 10, high: 100)
        async let first = pipe.next(upTo: 2)
        while !pipe.isAwaited { await Task.yield() }
        await #expect(throws: LoadError(.invalidRequest, "")) { try await pipe.next(upTo: 1) }
        _ = pipe.push([1, 2, 3])
        #expect(try await first == [1, 2])
        pipe.finish()
        #expect(try await pipe.next(upTo: 5) == [3])
        #expect(try await pipe.next() == nil && pipe.isFinished)
    }

    @Test func chunksAreCutToTheLimitInOrder() {
        let (pipe, _) = pipe(low: 10, high: 100)
        _ = pipe.push([1, 2, 3, 4, 5])
        _ = pipe.push([6])
        #expect(pipe.take(upTo: 2) == .bytes([1, 2]))
        #expect(pipe.take(upTo: 2) == .bytes([3, 4]))
        #expect(pipe.take(upTo: 2) == .bytes([5]))
        #expect(pipe.take(upTo: 2) == .bytes([6]))
    }

    @Test func emptyChunksAreIgnored() {
        let (pipe, _) = pipe()
        #expect(pipe.push([]) == .more)
        #expect(pipe.take(upTo: 1) == .empty)
    }

    enum Wake: CaseIterable { case release, push, fullness, end, failure }

    @Test(arguments: Wake.allCases)
    func heldChunksWakeATaskWithTheNextOne(_ wake: Wake) async throws {
        let (pipe, _) = pipe(low: 2, high: 4)
        async let first = pipe.next()
        #expect(try await eventually { pipe.isAwaited })
        let held = [pipe.push([1], isHeld: true), pipe.push([2], isHeld: true)]
        #expect(held == [.more, .more] && pipe.isAwaited)
        switch wake {
        case .release: pipe.release()
        case .push: #expect(pipe.push([3]) == .more)
        case .fullness: #expect(pipe.push([3, 4, 5, 6, 7], isHeld: true) == .full)
        case .end: pipe.finish()
        case .failure: pipe.finish(LoadError(.connectionLost, ""))
        }
        #expect(try await first == [1])
        #expect(try await pipe.next() == [2])
    }

    @Test func nothingIsReleasedWhereNothingIsHeld() async throws {
        let (pipe, _) = pipe()
        pipe.release()
        async let first = pipe.next()
        #expect(try await eventually { pipe.isAwaited })
        pipe.release()
        #expect(pipe.isAwaited && pipe.push([1]) == .more)
        #expect(try await first == [1])
    }

    @Test func theFirstFinishCounts() {
        let (pipe, _) = pipe()
        pipe.finish(LoadError(.idleTimeout, ""))
        pipe.finish()
        #expect(pipe.push([1]) == .closed)
        #expect(pipe.take(upTo: 1) == .failed(LoadError(.idleTimeout, "")))
    }

    @Test func bytesBeforeAFailureAreReadFirst() async throws {
        let (pipe, _) = pipe()
        _ = pipe.push([1])
        pipe.finish(LoadError(.connectionLost, ""))
        #expect(try await pipe.next() == [1])
        await #expect(throws: LoadError(.connectionLost, "")) { try await pipe.next() }
    }

    @Test func bytesBeforeAWithdrawalAreNotRead() async throws {
        let (pipe, calls) = pipe()
        _ = pipe.push([1, 2, 3, 4])
        pipe.finish(LoadError(.withdrawn, ""))
        #expect(pipe.bufferedBytes == 0)
        for _ in 0..<2 { await #expect(throws: LoadError(.withdrawn, "")) { try await pipe.next() } }
        pipe.discard()
        await #expect(throws: LoadError(.withdrawn, "")) { try await pipe.next() }
        #expect(calls.withLock { $0.room == 0 && $0.discards == 0 })
    }

    @Test func heldChunksBeforeAWithdrawalAreNotRead() async throws {
        let (pipe, _) = pipe()
        let reading = Task { try await pipe.next() }
        #expect(try await eventually { pipe.isAwaited })
        _ = pipe.push([1], isHeld: true)
        pipe.finish(LoadError(.withdrawn, ""))
        await #expect(throws: LoadError(.withdrawn, "")) { try await reading.value }
    }

    // MARK: Discarding

    @Test func discardingIsToldOnceAndClosesThePipe() async {
        let (pipe, calls) = pipe()
        _ = pipe.push([1])
        pipe.discard()
        pipe.discard()
        #expect(calls.withLock { $0.discards } == 1)
        #expect(pipe.push([2]) == .closed)
        await #expect(throws: LoadError(.cancelled, "")) { try await pipe.next() }
    }

    @Test func discardingAfterTheWholeBodyWasReadIsNothing() async throws {
        let (pipe, calls) = pipe()
        _ = pipe.push([1])
        pipe.finish()
        #expect(try await pipe.next() == [1])
        pipe.discard()
        #expect(calls.withLock { $0.discards } == 0)
        #expect(try await pipe.next() == nil)
    }

    /// A body whose end was there, but not read, must not look like one that was read to its end.
    @Test func aFinishedBodyThatIsDiscardedUnreadDoesNotEndCleanly() async {
        let (pipe, _) = pipe()
        _ = pipe.push([1])
        pipe.finish()
        pipe.discard()
        await #expect(throws: LoadError(.cancelled, "")) { try await pipe.next() }
    }

    // MARK: Tasks

    @Test func aWriterWaitsForRoom() async throws {
        let (pipe, _) = pipe()
        try await withThrowingTaskGroup { group in
            group.addTask {
                for byte in UInt8(0)..<100 { try await pipe.write([byte, byte]) }
                pipe.finish()
            }
            var bytes: [UInt8] = []
            while let chunk = try await pipe.next() { bytes += chunk }
            #expect(bytes == (UInt8(0)..<100).flatMap { [$0, $0] })
            try await group.waitForAll()
        }
    }

    @Test func aCancelledReaderEndsTheTransfer() async {
        let (pipe, calls) = pipe()
        let task = Task { try await pipe.next() }
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
        #expect(calls.withLock { $0.discards } == 1)
    }

    @Test func aCancelledWriterThrows() async {
        let (pipe, _) = pipe()
        _ = pipe.push([1, 2, 3, 4])
        let task = Task { try await pipe.write([5]) }
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
    }

    /// Two readers at once are an error of the second one, which is not to end the wait of the first.
    @Test func aSecondReaderThatIsCancelledLeavesTheFirstWaiting() async throws {
        let (pipe, calls) = pipe()
        async let first = pipe.next()
        while !pipe.isAwaited { await Task.yield() }
        let second = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pipe.next()
        }
        await #expect(throws: LoadError(.invalidRequest, "")) { try await second.value }
        #expect(pipe.isAwaited)
        _ = pipe.push([1])
        #expect(try await first == [1])
        #expect(calls.withLock { $0.discards } == 0)
    }

    @Test func aSecondWriterThatIsCancelledLeavesTheFirstWaiting() async throws {
        let (pipe, _) = pipe()
        let first = Task { try await pipe.write([1, 2, 3, 4]) }
        // Until the first one waits: before, the second one is not too many.
        let isRefused = try await eventually {
            let second = Task { () async -> Bool in
                withUnsafeCurrentTask { $0?.cancel() }
                do throws(LoadError) {
                    try await pipe.waitForRoom(behind: .full)
                    return false
                } catch {
                    return error.code == .requestBodyFailed
                }
            }
            return await second.value
        }
        #expect(isRefused)
        _ = pipe.take(upTo: .max)
        try await first.value
    }

    @Test func aWriterIsReleasedByAConsumerThatLeaves() async {
        let (pipe, _) = pipe()
        let task = Task { try await pipe.write([1, 2, 3, 4]) }
        while pipe.bufferedBytes == 0 { await Task.yield() }
        pipe.discard()
        await #expect(throws: LoadError(.connectionLost, "")) { try await task.value }
    }

    @Test func aWriterIsReleasedByTheEnd() async {
        let (pipe, _) = pipe()
        let task = Task { try await pipe.write([1, 2, 3, 4]) }
        while pipe.bufferedBytes == 0 { await Task.yield() }
        pipe.finish(LoadError(.idleTimeout, ""))
        await #expect(throws: LoadError.self) { try await task.value }
    }

    @Test func manyPipesWithRandomCancellationAllEnd() async {
        await withTaskGroup { group in
            for seed in 0..<400 { group.addTask { await Self.transfer(seed: UInt64(seed)) } }
        }
    }

    /// One transfer between two tasks, with a random end by either side or by cancellation.
    private static func transfer(seed: UInt64) async {
        var generator = SeededGenerator(seed: seed)
        let pipe = BodyPipe(watermarks: .init(low: 8, high: 32))
        let count = Int.random(in: 1...60, using: &generator)
        let stop = Int.random(in: 0...80, using: &generator)
        let kind = Int.random(in: 0..<4, using: &generator)
        let writer = Task {
            for index in 0..<count { try await pipe.write([UInt8](repeating: UInt8(index), count: index % 17 + 1)) }
            pipe.finish()
        }
        let reader = Task { () throws(LoadError) -> Int in
            var chunks: [UInt8] = []
            while let chunk = try await pipe.next() {
                chunks += chunk
                if kind == 1, chunks.count > stop { pipe.discard() }
            }
            return chunks.count
        }
        if kind == 2 { reader.cancel() }
        if kind == 3 {
            writer.cancel()
            _ = try? await writer.value
            pipe.finish(.cancelled())
        }
        _ = try? await writer.value
        let result = await reader.result
        let whole = (0..<count).reduce(0) { $0 + $1 % 17 + 1 }
        if case .success(let bytes) = result { #expect(bytes == whole) }
        if kind == 0 { #expect((try? result.get()) == whole) }
    }

    /// Random steps of both synchronous sides against a plain array.
    @Test func randomStepsKeepEveryByteInOrder() {
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<200 {
            let (pipe, calls) = pipe(low: 5, high: 11)
            var (sent, received): ([UInt8], [UInt8]) = ([], [])
            var isFull = false
            var rooms = 0
            for _ in 0..<200 {
                if Bool.random(using: &generator), !isFull {
                    let chunk = (0..<Int.random(in: 0...6, using: &generator)).map { _ in UInt8.random(in: 0...255) }
                    sent += chunk
                    isFull = pipe.push(chunk) == .full
                } else if case .bytes(let bytes) = pipe.take(upTo: Int.random(in: 1...8, using: &generator)) {
                    received += bytes
                }
                let told = calls.withLock { $0.room }
                if told > rooms { isFull = false }
                rooms = told
                #expect(isFull == (isFull && sent.count - received.count >= 5))
            }
            while case .bytes(let bytes) = pipe.take(upTo: .max) { received += bytes }
            #expect(sent == received)
        }
    }
}

extension BodyPipe.TakeResult: Equatable {
    package static func == (left: BodyPipe.TakeResult, right: BodyPipe.TakeResult) -> Bool {
        switch (left, right) {
        case (.bytes(let left), .bytes(let right)): left == right
        case (.failed(let left), .failed(let right)): left == right
        case (.empty, .empty), (.end, .end): true
        default: false
        }
    }
}
