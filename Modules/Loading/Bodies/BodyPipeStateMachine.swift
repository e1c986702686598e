internal import HTTPTypes
internal import SallyportCore

/// The decisions of a ``BodyPipe``: no I/O, no lock, no thread.
struct BodyPipeStateMachine: Sendable {
    typealias Producer = PipeWaiter<Void>
    typealias Consumer = PipeWaiter<[UInt8]?>

    /// What the caller must do once the lock is released.
    struct Actions: Sendable {
        var resumeProducer: (Producer, Result<Void, LoadError>)?
        var resumeConsumer: (Consumer, Result<[UInt8]?, LoadError>)?
        var callsHasRoom = false
        var callsHasBytes = false
        var callsWasDiscarded = false
    }

    private enum End { case open, finished, failed(LoadError), discarded }

    private let watermarks: BodyPipe.Watermarks
    private var chunks = ChunkQueue()
    /// How many bytes the consumer has taken.
    private(set) var takenBytes = 0
    private var end = End.open
    private var producer: Producer?
    private var consumer: Consumer?
    /// The greatest number of bytes that the waiting consumer takes.
    private var consumerLimit = Int.max
    private var owesHasRoom = false
    private var owesHasBytes = false
    private var receivedTrailers: HTTPFields?

    /// The fields after the body, once all chunks were taken.
    var trailers: HTTPFields? { if case .finished = end, chunks.isEmpty { receivedTrailers } else { nil } }

    var bufferedBytes: Int { chunks.bytes }
    var hasRoom: Bool { chunks.bytes < watermarks.low }

    /// No bytes are available, but more may come.
    var isIdle: Bool { if case .open = end { chunks.isEmpty } else { false } }

    /// Whether the producer has finished.
    var isFinished: Bool { if case .finished = end { true } else { false } }

    /// Whether the consumer needs no more, and did not wait for the end.
    var isDiscarded: Bool { if case .discarded = end { true } else { false } }

    /// A task waits for a chunk.
    var isAwaited: Bool { consumer != nil }

    init(watermarks: BodyPipe.Watermarks) { self.watermarks = watermarks }

    // MARK: Producer

    /// - Parameter isHeld: whether more will follow at once: a waiting consumer keeps waiting, unless the pipe is full.
    mutating func pushed(_ chunk: [UInt8], isHeld: Bool = false) -> (BodyPipe.PushResult, Actions) {
        var actions = Actions()
        guard case .open = end else { return (.closed, actions) }
        guard !chunk.isEmpty else { return (.more, actions) }
        chunks.append(chunk)
        actions.callsHasBytes = clearOwed(&owesHasBytes)
        if !isHeld || chunks.bytes >= watermarks.high { actions.resumeConsumer = waitingConsumer() }
        guard chunks.bytes >= watermarks.high else { return (.more, actions) }
        owesHasRoom = true
        return (.full, actions)
    }

    /// Held chunks are passed on without waiting for more.
    mutating func released() -> Actions {
        var actions = Actions()
        actions.resumeConsumer = waitingConsumer()
        return actions
    }

    /// The consumer that waits for a chunk, with the first chunk; nil if none waits, or if there is no chunk.
    private mutating func waitingConsumer() -> (Consumer, Result<[UInt8]?, LoadError>)? {
        guard consumer != nil, let chunk = takeChunk(upTo: consumerLimit) else { return nil }
        return consumer.take().map { ($0, .success(chunk)) }
    }

    /// The producer's task waits for room, after a push that filled the pipe.
    mutating func producerWaits(_ waiter: Producer) -> Actions {
        var actions = Actions()
        owesHasRoom = false
        guard producer == nil else {
            actions.resumeProducer = (waiter, .failure(Self.secondProducer()))
            return actions
        }
        switch end {
        case .discarded:
            actions.resumeProducer = (waiter, .failure(Self.discardedByConsumer()))
        case .open where !hasRoom && !Task.isCancelled:
            producer = waiter
        case .open, .finished, .failed:
            actions.resumeProducer = (waiter, Task.isCancelled ? .failure(.cancelled()) : .success(()))
        }
        return actions
    }

    /// The task of a wait was cancelled. The wait may not have begun, or may be over.
    mutating func producerCancelled(_ number: UInt64) -> Actions {
        var actions = Actions()
        guard producer?.number == number else { return actions }
        actions.resumeProducer = producer.take().map { ($0, .failure(.cancelled())) }
        return actions
    }

    mutating func finished(_ failure: LoadError?, trailers: HTTPFields? = nil) -> Actions {
        var actions = Actions()
        guard case .open = end else { return actions }
        if failure == nil { receivedTrailers = trailers }
        end = failure.map(End.failed) ?? .finished
        // Bytes that arrived before a withdrawal are not passed to an app that is withdrawn.
        if failure?.code == .withdrawn { chunks = ChunkQueue() }
        owesHasRoom = false
        actions.callsHasBytes = clearOwed(&owesHasBytes)
        actions.resumeProducer = producer.take().map { ($0, .failure(failure ?? Self.discardedByConsumer())) }
        // Held chunks come before the end.
        actions.resumeConsumer =
            waitingConsumer() ?? consumer.take().map { ($0, failure.map { .failure($0) } ?? .success(nil)) }
        return actions
    }

    // MARK: Consumer

    mutating func taken(upTo limit: Int) -> (BodyPipe.TakeResult, Actions) {
        var actions = Actions()
        guard let chunk = takeChunk(upTo: limit) else { return (emptyResult(), actions) }
        guard hasRoom else { return (.bytes(chunk), actions) }
        actions.callsHasRoom = clearOwed(&owesHasRoom)
        actions.resumeProducer = producer.take().map { ($0, .success(())) }
        return (.bytes(chunk), actions)
    }

    private mutating func takeChunk(upTo limit: Int) -> [UInt8]? {
        let chunk = chunks.take(upTo: limit)
        takenBytes += chunk?.count ?? 0
        return chunk
    }

    private mutating func emptyResult() -> BodyPipe.TakeResult {
        switch end {
        case .open:
            owesHasBytes = true
            return .empty
        case .finished: return .end
        case .failed(let failure): return .failed(failure)
        case .discarded: return .failed(.cancelled())
        }
    }

    /// The consumer's task waits for a chunk, after a take that found none.
    mutating func consumerWaits(_ waiter: Consumer, upTo limit: Int = .max) -> Actions {
        guard consumer == nil else {
            var actions = Actions()
            actions.resumeConsumer = (waiter, .failure(Self.secondConsumer()))
            return actions
        }
        owesHasBytes = false
        if case .open = end, Task.isCancelled { return cancel(waiter) }
        var (result, actions) = taken(upTo: limit)
        owesHasBytes = false
        switch result {
        case .bytes(let bytes): actions.resumeConsumer = (waiter, .success(bytes))
        case .end: actions.resumeConsumer = (waiter, .success(nil))
        case .failed(let failure): actions.resumeConsumer = (waiter, .failure(failure))
        case .empty: (consumer, consumerLimit) = (waiter, limit)
        }
        return actions
    }

    /// As ``producerCancelled(_:)``.
    mutating func consumerCancelled(_ number: UInt64) -> Actions {
        guard consumer?.number == number else { return Actions() }
        return consumer.take().map { cancel($0) } ?? Actions()
    }

    private mutating func cancel(_ waiter: Consumer) -> Actions {
        var actions = discarded()
        actions.resumeConsumer = (waiter, .failure(.cancelled()))
        return actions
    }

    mutating func discarded() -> Actions {
        var actions = Actions()
        guard case .open = end else {
            // A discarded rest must not look like a body that was read to its end.
            if case .finished = end, !chunks.isEmpty { end = .discarded }
            chunks = ChunkQueue()
            return actions
        }
        end = .discarded
        chunks = ChunkQueue()
        owesHasRoom = false
        actions.callsWasDiscarded = true
        actions.resumeProducer = producer.take().map { ($0, .failure(Self.discardedByConsumer())) }
        actions.resumeConsumer = consumer.take().map { ($0, .failure(.cancelled())) }
        return actions
    }

    static func discardedByConsumer() -> LoadError {
        LoadError(.connectionLost, at: .request, "The load ended before its body was written to the end.")
    }

    private static func secondProducer() -> LoadError {
        LoadError(.requestBodyFailed, at: .request, "A body is written by one task at a time.")
    }

    private static func secondConsumer() -> LoadError {
        LoadError(.invalidRequest, at: .response, "Bytes are read by one task at a time.")
    }

    private func clearOwed(_ owed: inout Bool) -> Bool {
        defer { owed = false }
        return owed
    }
}

/// A task that waits at a ``BodyPipe``.
///
/// A checked continuation would be another object for each chunk. It is resumed exactly once: the state machine either
/// passes it on at once, in its actions, or keeps it until it takes it out again to pass it on, and its task keeps the
/// pipe alive meanwhile.
@safe
struct PipeWaiter<Value: Sendable>: Sendable {
    private let continuation: UnsafeContinuation<Result<Value, LoadError>, Never>
    /// The number of this wait among all waits of the pipe.
    let number: UInt64

    init(_ continuation: UnsafeContinuation<Result<Value, LoadError>, Never>, _ number: UInt64) {
        unsafe self.continuation = continuation
        self.number = number
    }

    func resume(with result: Result<Value, LoadError>) {
        // SAFETY: called once, see above.
        unsafe continuation.resume(returning: result)
    }
}

/// Chunks in order, with the number of bytes in them.
struct ChunkQueue: Sendable {
    private var chunks: [[UInt8]] = []
    private var head = 0
    /// How many bytes of the first chunk were already taken.
    private var offset = 0
    private(set) var bytes = 0

    var isEmpty: Bool { head == chunks.count }

    mutating func append(_ chunk: [UInt8]) {
        chunks.append(chunk)
        bytes += chunk.count
    }

    /// The first chunk, cut where it is longer than `limit`; nil if there is none.
    mutating func take(upTo limit: Int) -> [UInt8]? {
        guard head < chunks.count else { return nil }
        let rest = chunks[head].count - offset
        let isWhole = rest <= limit
        let taken = isWhole && offset == 0 ? chunks[head] : Array(chunks[head][offset..<offset + min(rest, limit)])
        bytes -= taken.count
        if isWhole { dropFirst() } else { offset += taken.count }
        return taken
    }

    private mutating func dropFirst() {
        chunks[head] = []
        head += 1
        offset = 0
        guard head == chunks.count || head > 32 else { return }
        chunks.removeFirst(head)
        head = 0
    }
}
