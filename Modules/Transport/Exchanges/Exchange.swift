internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// An exchange in progress: carries out what its ``ExchangeState`` decides, with the caller's continuation, the pipe of
/// the body, and the connection. Made, kept and used by the engine of its loop; other threads have its handle.
final class Exchange: LoopObject {
    typealias Continuation = CheckedContinuation<ExchangeAnswer, Never>

    let handle: ExchangeHandle
    let attempt: Attempt
    /// The request's body; nil if it has none.
    let upload: Upload?
    var state: ExchangeState
    var notes = ExchangeNotes()
    /// Taken when the exchange is answered.
    private var continuation: Continuation?
    private var pipe: BodyPipe?
    private(set) var pool: Pool?
    /// Names it at the control of its load.
    private var controlNumber: UInt64 = 0
    /// Whether libcurl only opens the connection, over which the exchange is then sent without it.
    var usesOwnHTTP = false

    init(_ handle: ExchangeHandle, answering continuation: consuming Continuation) {
        self.handle = handle
        self.continuation = continuation
        let claim = OriginClaim(origin: handle.origin, limit: handle.request.connectionsPerOrigin)
        attempt = Attempt(claim, since: handle.start)
        upload = Upload(handle.body)
        state = ExchangeState(handle.request)
    }

    var request: ExchangeRequest { handle.request }

    func start(in pool: Pool) {
        self.pool = pool
        pool.share.exchanges.insert(self)
        if let control = request.control {
            controlNumber = control.attach { [handle] in handle.engine.post(.controlChanged(handle)) }
        }
        pool.start(self)
        if !attempt.hasBegun { pool.watchdog.watch(self) }
    }

    // MARK: Flow

    func resumeReceiving() {
        if state.readerHasRoom() { flowChanged() }
    }

    func resumeSending() {
        guard let upload, upload.isPaused else { return }
        upload.resumed()
        flowChanged()
    }

    /// It was suspended or resumed, or its priority changed.
    func controlChanged() {
        guard let pool else { return }
        guard attempt.hasBegun else { return pool.requeue(self) }
        if state.controlChanged(isSuspended: isSuspended) { flowChanged() }
    }

    private func flowChanged() {
        guard let connection = attempt.connection, let pool else { return }
        state.moved(at: pool.now)
        connection.flowChanged(state.flow, isSendingPaused: isSendingPaused)
        pool.scheduleTurn()
    }

    /// Bytes came or went.
    func moved() { if let pool { state.moved(at: pool.now) } }

    var isSendingPaused: Bool { upload?.isPaused ?? false }

    // MARK: Answer

    func turnEnds() {
        guard pool != nil else { return }
        if state.turnEnded() { flowChanged() }
        pass(state.answer.turnEnded())
    }

    func finished(_ failure: LoadError?) {
        let failure = failure.map { attempt.failure ?? upload?.failure ?? $0 } ?? truncation
        upload?.end()
        request.control?.detach(controlNumber)
        if !state.answer.isExpectationRefused { report(failure) }
        switch state.answer.ended(isComplete: failure == nil) {
        case .expectationRefused: answer(.expectationRefused)
        case .delivered(let delivery): pass(delivery)
        case .unanswered: answer(.failed(failure ?? Self.headless()))
        }
        pipe?.finish(failure, trailers: state.answer.download.head.trailerFields)
        pipe = nil
        pool?.share.exchanges.remove(self)
        pool = nil
    }

    /// A body that ends with the connection is complete only if TLS was closed properly (RFC 9112 §9.8).
    private var truncation: LoadError? {
        guard let last = attempt.handshakes.last, !last.isEnded, state.answer.isDelimitedByClose else { return nil }
        return LoadError(.connectionLost, at: .response, "The connection ended without close_notify.")
    }

    private static func headless() -> LoadError {
        LoadError(.connectionLost, at: .response, "The connection ended before the head of the answer was whole.")
    }

    private func pass(_ delivery: AnswerState.Delivery) {
        switch delivery {
        case .nothing: break
        case .chunk(let chunk): push(chunk)
        case .whole(let bytes): answer(.response(response(ResponseBody(bytes))))
        case .head(let chunk):
            let pipe = openPipe()
            push(chunk)
            answer(.response(response(ResponseBody(pipe))))
        }
    }

    private func answer(_ answer: ExchangeAnswer) {
        guard let continuation = continuation.take() else { return }
        pool?.answer(continuation, with: answer)
    }

    /// Passes on what was received of the body, if it is as much as this, in bytes.
    func pushChunk(ofAtLeast count: Int) {
        if let chunk = state.answer.takeChunk(ofAtLeast: count) { push(chunk) }
    }

    private func push(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else { return }
        state.pushed(openPipe().push(chunk))
    }

    private func openPipe() -> BodyPipe {
        if let pipe { return pipe }
        let pipe = BodyPipe(
            watermarks: state.answer.watermarks,
            hooks: .init(
                hasRoom: { [handle] in handle.engine.post(.resumeReceiving(handle)) },
                wasDiscarded: { [handle] in handle.engine.post(.cancel(handle)) }))
        self.pipe = pipe
        return pipe
    }
}
