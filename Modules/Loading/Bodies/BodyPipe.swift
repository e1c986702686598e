package import HTTPTypes
internal import SallyportBase
package import SallyportCore
internal import Synchronization

/// A bounded buffer of chunks between one producer and one consumer, either of which may be an event loop.
///
/// A loop calls the synchronous side (``push(_:)``, ``finish(_:)``, ``take(upTo:)``), and a hook tells it when to
/// continue; a task calls the asynchronous side (``write(_:)``, ``next()``). All available chunks are passed on under
/// one lock, so that neither side switches threads for each chunk. Hooks run outside the lock, on the thread that made
/// them due.
package final class BodyPipe: BodySource {
    /// In bytes. The producer stops at `high` and continues below `low`.
    package struct Watermarks: Sendable {
        package var low: Int
        package var high: Int

        package init(low: Int, high: Int) {
            precondition(low > 0 && low <= high, "A stopped producer continues below the low mark.")
            self.low = low
            self.high = high
        }

        /// As much as a loop reads of a tunnel in one turn.
        package static let standard = Watermarks(low: 96 << 10, high: 192 << 10)
        /// Twice what a loop reads of a response's body in one turn: it reads on while a task takes what came before.
        package static let body = Watermarks(low: 256 << 10, high: 512 << 10)
    }

    /// Hooks for the side that is a loop. Each is called at most once for each time that it became due.
    package struct Hooks: Sendable {
        /// A push returned `.full`, and there is room again.
        package var hasRoom: @Sendable () -> Void
        /// A take returned `.empty`, and there is something again: bytes, the end, or a failure.
        package var hasBytes: @Sendable () -> Void
        /// The consumer has discarded the pipe; no more bytes are needed.
        package var wasDiscarded: @Sendable () -> Void

        package init(
            hasRoom: @escaping @Sendable () -> Void = {}, hasBytes: @escaping @Sendable () -> Void = {},
            wasDiscarded: @escaping @Sendable () -> Void = {}
        ) {
            self.hasRoom = hasRoom
            self.hasBytes = hasBytes
            self.wasDiscarded = wasDiscarded
        }
    }

    private let machine: Lock<BodyPipeStateMachine>
    private let hooks: Hooks
    /// How many waits there were. A wait is named by its number: the cancellation of a task ends its own wait only.
    private let waits = Atomic<UInt64>(0)

    package init(watermarks: Watermarks = .standard, hooks: Hooks = Hooks()) {
        machine = Lock(BodyPipeStateMachine(watermarks: watermarks))
        self.hooks = hooks
    }
}

// MARK: Producer

extension BodyPipe {
    package enum PushResult: Sendable {
        /// There is room for more.
        case more
        /// The chunk was accepted; stop until the `hasRoom` hook.
        case full
        /// The consumer has discarded the pipe; the chunk was dropped.
        case closed
    }

    /// Appends a chunk from a loop. An empty one is ignored.
    ///
    /// - Parameter isHeld: whether more will follow at once. A waiting task is then woken only once: by a later chunk
    ///   that is not held, by the end, by a full pipe or by ``release()``. Waking it for each chunk would cost more
    ///   than the chunks.
    package func push(_ chunk: [UInt8], isHeld: Bool = false) -> PushResult {
        let (result, action) = machine.withLock { $0.pushed(chunk, isHeld: isHeld) }
        perform(action)
        return result
    }

    /// Wakes the task that waits for held chunks.
    package func release() { perform(machine.withLock { $0.released() }) }

    /// Appends a chunk from a task; returns when there is room for more.
    ///
    /// - Throws: ``LoadError/Code/cancelled`` if the task is cancelled, or the consumer's reason for discarding the
    ///   pipe.
    package func write(_ chunk: [UInt8]) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled() }
        try await waitForRoom(behind: push(chunk))
    }

    /// Returns when there is room for more after a push.
    ///
    /// - Throws: as ``write(_:)``.
    package func waitForRoom(behind result: PushResult) async throws(LoadError) {
        switch result {
        case .more: return
        case .closed: throw BodyPipeStateMachine.discardedByConsumer()
        case .full: break
        }
        let number = nextWait()
        let result: Result<Void, LoadError> = await withTaskCancellationHandler {
            // SAFETY: `PipeWaiter` says by what it is resumed.
            await unsafe withUnsafeContinuation { continuation in
                let waiter = unsafe PipeWaiter(continuation, number)
                perform(machine.withLock { $0.producerWaits(waiter) })
            }
        } onCancel: {
            perform(machine.withLock { $0.producerCancelled(number) })
        }
        try result.get()
    }

    /// Ends the body. Only the first call has an effect. The reader gets what came before a failure first, unless that
    /// is ``LoadError/Code/withdrawn``.
    package func finish(_ failure: LoadError? = nil, trailers: HTTPFields? = nil) {
        perform(machine.withLock { $0.finished(failure, trailers: trailers) })
    }
}

// MARK: Consumer

extension BodyPipe {
    package enum TakeResult: Sendable {
        case bytes([UInt8])
        /// No bytes are available; wait for the `hasBytes` hook.
        case empty
        case end
        case failed(LoadError)
    }

    /// Returns at most `limit` bytes (more than zero) to a loop.
    package func take(upTo limit: Int) -> TakeResult {
        let (result, action) = machine.withLock { $0.taken(upTo: limit) }
        perform(action)
        return result
    }

    /// Returns the next chunk to a task; nil at the end.
    package func next() async throws(LoadError) -> [UInt8]? { try await next(upTo: .max) }

    /// Returns the next chunk to a task, at most `limit` bytes of it (more than zero); nil at the end.
    ///
    /// - Throws: the producer's failure; ``LoadError/Code/cancelled`` if the task is cancelled, which discards the
    ///   rest; ``LoadError/Code/invalidRequest`` while another task waits.
    package func next(upTo limit: Int) async throws(LoadError) -> [UInt8]? {
        let (result, action) = machine.withLock { $0.taken(upTo: limit) }
        perform(action)
        switch result {
        case .bytes(let bytes): return bytes
        case .end: return nil
        case .failed(let failure): throw failure
        case .empty: return try await wait(upTo: limit)
        }
    }

    private func wait(upTo limit: Int) async throws(LoadError) -> [UInt8]? {
        let number = nextWait()
        let result: Result<[UInt8]?, LoadError> = await withTaskCancellationHandler {
            // SAFETY: as above.
            await unsafe withUnsafeContinuation { continuation in
                let waiter = unsafe PipeWaiter(continuation, number)
                perform(machine.withLock { $0.consumerWaits(waiter, upTo: limit) })
            }
        } onCancel: {
            perform(machine.withLock { $0.consumerCancelled(number) })
        }
        return try result.get()
    }

    package var trailers: HTTPFields? { machine.withLock { $0.trailers } }

    /// No bytes are available, but more may come.
    package var isIdle: Bool { machine.withLock { $0.isIdle } }

    /// Whether a producer that was told that the pipe is full may push again.
    package var hasRoom: Bool { machine.withLock { $0.hasRoom } }

    /// The number of available bytes.
    package var bufferedBytes: Int { machine.withLock { $0.bufferedBytes } }

    /// The number of bytes that the consumer has taken.
    package var takenBytes: Int { machine.withLock { $0.takenBytes } }

    /// Whether the producer has finished.
    package var isFinished: Bool { machine.withLock { $0.isFinished } }

    /// Whether the consumer has discarded it.
    package var isDiscarded: Bool { machine.withLock { $0.isDiscarded } }

    /// Whether a task waits for a chunk.
    package var isAwaited: Bool { machine.withLock { $0.isAwaited } }

    /// The consumer needs no more bytes.
    package func discard() {
        perform(machine.withLock { $0.discarded() })
    }
}

extension BodyPipe {
    private func nextWait() -> UInt64 { waits.wrappingAdd(1, ordering: .relaxed).newValue }

    private func perform(_ actions: BodyPipeStateMachine.Actions) {
        if let (waiter, result) = actions.resumeProducer { waiter.resume(with: result) }
        if let (waiter, result) = actions.resumeConsumer { waiter.resume(with: result) }
        if actions.callsHasRoom { hooks.hasRoom() }
        if actions.callsHasBytes { hooks.hasBytes() }
        if actions.callsWasDiscarded { hooks.wasDiscarded() }
    }
}
