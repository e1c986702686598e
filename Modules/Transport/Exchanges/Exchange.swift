internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// An exchange in progress: carries out what its ``ExchangeState`` decides, with its caller, the pipe of
/// the body, and the connection. Made, kept and used by the engine of its loop; other threads have its handle.
final class Exchange: Attempt, LoopObject {
    let handle: ExchangeHandle
    /// The request's body; nil if it has none.
    let upload: Upload?
    /// Changed in calls that do nothing else, so that exclusive access to it costs nothing at run time.
    var state: ExchangeState
    /// What has arrived of the answer.
    var download: Download
    var notes = ExchangeNotes()
    /// Taken when the caller is resumed.
    private var caller: ExchangeCaller?
    private var outcome: ExchangeAnswer?
    private var pipe: BodyPipe?
    private(set) var pool: Pool?
    /// Names it at the control of its load.
    private var controlNumber: UInt64 = 0
    /// Whether libcurl only opens the connection, over which the exchange is then sent without it.
    var usesOwnHTTP = false

    init(_ handle: ExchangeHandle, answering caller: ExchangeCaller) {
        self.handle = handle
        self.caller = caller
        upload = Upload(handle.body)
        state = ExchangeState(handle.request)
        download = Download(headerLimit: handle.request.headerLimit.bytes)
        let claim = OriginClaim(origin: handle.origin, limit: handle.request.connectionsPerOrigin)
        super.init(claim, since: handle.start, orByOtherCluster: handle.request.hasOtherCluster)
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

    /// Whether the request waits for the source of its body. One that is given up waits for the server alone.
    var isSendingPaused: Bool {
        guard let upload, upload.isPaused, let connection = attempt.connection else { return false }
        return !connection.hasGivenUpSending
    }

    // MARK: Answer

    func turnEnds() {
        guard pool != nil else { return }
        if state.turnEnded() { flowChanged() }
        let arrival = download.arrival
        let delivery = state.answer.turnEnded(arrival)
        // While the connection goes on reading, a reader on another thread is not woken for each turn.
        let readsOn = attempt.connection?.readsOn ?? false
        pass(delivery, isHeld: readsOn)
        // The last bytes of a turn release what was held before them.
        if delivery == .nothing, !readsOn { pipe?.release() }
    }

    func finished(_ failure: LoadError?) {
        let isWithdrawn = failure?.code == .withdrawn
        let failure = isWithdrawn ? failure : failure.map { attempt.failure ?? upload?.failure ?? $0 } ?? truncation
        // Bytes that arrived before a withdrawal are not passed to an app that is withdrawn.
        if isWithdrawn { _ = download.takeChunk() }
        upload?.end()
        request.control?.detach(controlNumber)
        if !state.answer.isExpectationRefused { report(failure) }
        let arrival = download.arrival
        switch state.answer.ended(arrival, isComplete: failure == nil) {
        case .expectationRefused: answer(.expectationRefused)
        case .delivered(let delivery): pass(delivery)
        case .unanswered: answer(.failed(failure ?? Self.headless()))
        }
        if let pipe = pipe.take() { pipe.finish(failure, trailers: download.head.trailerFields) }
        pool?.share.exchanges.remove(self)
        pool = nil
    }

    /// A body that ends with the connection is complete only if TLS was closed properly (RFC 9112 §9.8).
    private var truncation: LoadError? {
        guard let last = attempt.handshakes.last, !last.isEnded,
            download.isDelimitedByClose(isHead: state.answer.isHead)
        else { return nil }
        return LoadError(.connectionLost, at: .response, "The connection ended without close_notify.")
    }

    private static func headless() -> LoadError {
        LoadError(.connectionLost, at: .response, "The connection ended before the head of the answer was whole.")
    }

    private func pass(_ delivery: AnswerState.Delivery, isHeld: Bool = false) {
        switch delivery {
        case .nothing: break
        case .bytes: push(isHeld: isHeld)
        case .whole: answer(.response(response(ResponseBody(download.takeChunk()))))
        case .head:
            let pipe = openPipe()
            push()
            answer(.response(response(ResponseBody(pipe))))
        }
    }

    private func answer(_ answer: ExchangeAnswer) {
        outcome = answer
        pool?.answer(self)
    }

    /// Resumes the caller with the answer.
    func resumeCaller() {
        guard let caller = caller.take(), let outcome = outcome.take() else { return }
        caller.resume(with: outcome)
    }

    /// Passes on what was received of the body, if it is as much as this, in bytes. Its reader is woken at the end of
    /// the turn, once for all chunks.
    func pushChunk(ofAtLeast count: Int) {
        if download.chunk.count >= count, state.answer.bytesAreDue() { push(isHeld: true) }
    }

    private func push(isHeld: Bool = false) {
        let chunk = download.takeChunk()
        guard !chunk.isEmpty else { return }
        let result = openPipe().push(chunk, isHeld: isHeld)
        state.pushed(result)
    }

    private func openPipe() -> BodyPipe {
        if let pipe { return pipe }
        let limit = state.answer.pipeLimit(download.head.framing)
        let pipe = BodyPipe(
            watermarks: limit.map { .upTo($0) } ?? .body,
            hooks: .init(
                hasRoom: { [handle] in handle.engine.resumeReceiving(handle) },
                wasDiscarded: { [handle] in handle.engine.post(.cancel(handle)) }))
        self.pipe = pipe
        return pipe
    }
}

extension BodyPipe.Watermarks {
    /// For a body of which as many bytes as this may wait, or the usual number if that is more.
    fileprivate static func upTo(_ limit: Int) -> BodyPipe.Watermarks {
        let high = max(body.high, limit)
        return BodyPipe.Watermarks(low: high, high: high)
    }
}
