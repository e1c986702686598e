internal import CCurl
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

    /// A request that is given up no longer waits for the source of its body: libcurl stops sending it, but does not
    /// end a transfer that is paused (7.88).
    ///
    /// - Returns: whether it waited.
    private func endsVainPause() -> Bool {
        guard let upload, upload.isPaused, attempt.connection?.hasGivenUpSending == true else { return false }
        upload.resumed()
        return true
    }

    // MARK: Answer

    func turnEnds() {
        guard pool != nil else { return }
        if state.turnEnded() || endsVainPause() { flowChanged() }
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
        guard let last = notes.handshake ?? attempt.handshakes.last, !last.isEnded,
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

// What its connection tells an exchange and asks of it: libcurl's callbacks, and our own HTTP/1.1.
extension Exchange {
    // MARK: Sending

    func willConnect(_ descriptor: Int32) -> Bool {
        let verdict = state.willConnect(hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
        guard obeys(verdict) else { return false }
        // libcurl may connect anew within a transfer, if the connection that it sent over had ended, or the server
        // refused the stream or asked for HTTP/1.1.
        if let pool { attempt.willOpenSocket(at: pool.now) }
        attempt.startOver()
        attempt.step = .connect
        pool?.opened(descriptor, by: self)
        if pool?.configuration.path.owner != nil { notes.madeConnection = ExchangeNotes.nextConnection() }
        return true
    }

    func willHandshake(_ context: OpaquePointer) {
        guard let pool else { return }
        unsafe attempt.willHandshake(pool.configuration, context)
    }

    func willSendRequest() -> Bool {
        // libcurl asks this before it reports the connection, even if it sends nothing.
        if usesOwnHTTP, attempt.transfer != nil { return true }
        guard let pool else { return false }
        if let number = notes.madeConnection { pool.connectionNumber = number }
        let isNew = attempt.hasJustConnected
        // The first time, nothing was sent.
        let hasSentNothing = !state.isSendingBegun || hasSentNothing
        // What must not be sent twice gets no further handle, which would not know that it was sent.
        if isNew, attempt.handshakes.isEmpty, state.connectionEnded(hasSentNothing: hasSentNothing),
            pool.hasBytes(for: attempt)
        {
            return leavesConnection()
        }
        let verdict = state.willSend(
            over: pool.connectionNumber, hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
        guard obeys(verdict), !(isNew || pool.isRetired) || isStillAllowed(in: pool) else { return false }
        attempt.step = upload?.isSent ?? true ? .response : .request
        moved()
        attempt.willSend(at: state.lastActivity)
        notes.handshake = attempt.transfer?.handshake
        if request.reporter != nil, request.url.isSecure { notes.tls = attempt.connection?.tlsFacts }
        if state.requestWasSent() { pool.signal(self) }
        if let origin = attempt.claim?.origin, let handshake = attempt.serverHandshake {
            pool.learned(origin, isMultiplexed: handshake.choseHTTP2)
            let version = attempt.connection?.tlsFacts.flatMap { TLSVersion(openSSL: $0.version) }
            pool.share.agreed(on: version, in: handshake, with: origin.endpoint)
        }
        givesWay()
        return true
    }

    /// Sends nothing over a new connection that had bytes before. The pool dials again once libcurl has given it up.
    private func leavesConnection() -> Bool {
        attempt.isSpokenToFirst = true
        attempt.transfer?.set(CURLOPT_FORBID_REUSE, 1)
        return false
    }

    /// Whether the present policy allows the connection. It may have changed since the way was chosen: a connection that
    /// was not open by then could not be judged, and one in a retired pool may have been refused.
    private func isStillAllowed(in pool: Pool) -> Bool {
        guard let refusal = pool.share.judge?(pool.openConnection(of: self)) else { return true }
        attempt.failure = refusal
        attempt.transfer?.set(CURLOPT_FORBID_REUSE, 1)
        return false
    }

    /// libcurl's connections whose handshake showed that a server chooses HTTP/1.1 are replaced by ours in the end.
    private func givesWay() {
        guard !usesOwnHTTP, request.url.isSecure, let pool, let origin = attempt.claim?.origin,
            pool.speaksHTTP1(for: self, to: origin), pool.lastOverTransfer(to: origin)
        else { return }
        attempt.transfer?.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// In all attempts.
    private var hasSentNothing: Bool { !state.hasSentBytes && attempt.transfer?.hasSentNothing ?? true }
    private var canStartAnew: Bool { upload?.canStartAnew ?? true }

    /// - Returns: whether the request is sent; if not, the attempt's failure says why.
    private func obeys(_ verdict: SendRule.Verdict) -> Bool {
        switch verdict {
        case .send: return true
        case .notTwice: return failsOnce()
        case .connectionIsGone(let isUnsent):
            attempt.failure = LoadError(
                .connectionLost, at: .request, "The connection that the request has to go over is gone.",
                underlying: isUnsent ? BoundConnectionLost() : nil)
            return false
        }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch piece(atMost: buffer.count) {
        case .bytes(let piece):
            unsafe buffer.copyBytes(from: piece)
            return piece.count
        case .end: return 0
        case .paused: return Int(CURL_READFUNC_PAUSE)
        case .failed: return Int(CURL_READFUNC_ABORT)
        }
    }

    /// The next bytes of the request's body.
    func piece(atMost limit: Int) -> Upload.Piece {
        guard let upload else { return .end }
        guard !state.flow.isHeld else { return .paused }
        moved()
        let piece = upload.next(atMost: limit) { [handle] in handle.engine.post(.resumeSending(handle)) }
        request.control?.sent(upload.sentBytes, of: upload.totalBytes)
        if upload.isComplete {
            attempt.step = .response
            notes.requestDone = state.lastActivity
        }
        return piece
    }

    func rewindBody() -> Bool {
        state.connectionEnded(hasSentNothing: hasSentNothing) && upload?.rewind() ?? true || failsOnce()
    }

    /// Whether the exchange may discover by sending that its connection has ended. An exchange that must not be sent
    /// twice, or not over another connection, asks the connection itself first.
    var maySendAgain: Bool { request.isIdempotent && request.requiredConnection == nil }

    /// Whether the request may be sent through another relay: nothing of an answer has come, and it is idempotent or
    /// nothing of it was sent.
    var mayMove: Bool {
        request.requiredConnection == nil && pool?.configuration.path.owner == nil && !download.head.hasBegun
            && canStartAnew && state.connectionEnded(hasSentNothing: hasSentNothing)
    }

    /// Whether the request was sent and nothing of an answer has come.
    var awaitsAnswer: Bool { state.isSendingBegun && !download.head.hasBegun && !isPaused }

    /// Ends the exchange instead of sending it a second time.
    private func failsOnce() -> Bool {
        attempt.failure = LoadError(
            .connectionLost, at: .request, "The connection ended, and the request is not one to be sent twice.")
        return false
    }

    // MARK: Receiving

    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        guard attempt.step == .request || attempt.step == .response else {
            moved()
            return unsafe attempt.relayAnswer.received(line)
        }
        if let pool { attempt.answerCame(at: pool.now) }
        var position = 0
        return unsafe read(line, at: &position)
    }

    /// Reads lines of the head, or a trailer line; moves the position to their end.
    ///
    /// - Returns: whether the exchange continues; if not, the attempt's failure is the reason, if there is one.
    func read(_ lines: UnsafeRawBufferPointer, at position: inout Int) -> Bool {
        let start = position
        let outcome = unsafe download.read(lines, at: &position)
        // A line that grows without end counts as idle.
        if position > start { moved() }
        attempt.step = .response
        if outcome == .more { return true }
        if outcome == .whole { return headArrived() }
        attempt.failure = outcome.failure(request.headerLimit, after: download.head.taken)
        return false
    }

    private func headArrived() -> Bool {
        let framing = download.head.framing
        let canStartAnew = canStartAnew
        guard case .goesOn(let isUnauthorized) = state.answer.headArrived(framing, canStartAnew: canStartAnew) else {
            return false
        }
        if isUnauthorized, request.url.isSecure { notes.channelBinding = attempt.connection?.channelBinding }
        // What is collected is passed on when it is whole.
        if state.answer.isCollected { download.reserve() } else { pool?.signal(self) }
        return true
    }

    func received(body: UnsafeRawBufferPointer) -> Int {
        guard state.flow.mayReceive else { return Int(CURL_WRITEFUNC_PAUSE) }
        unsafe takes(body: body)
        return body.count
    }

    /// Takes a piece of the body, even if its reader has no room for more.
    func takes(body: UnsafeRawBufferPointer) {
        moved()
        unsafe download.append(body)
        guard !state.answer.isCollected else { return }
        pushChunk(ofAtLeast: Download.chunkSize)
        pool?.signal(self)
    }

    /// Passes on a piece of the body without copying.
    func takes(chunk: [UInt8]) {
        guard !state.answer.isCollected else { return unsafe chunk.withUnsafeBytes { unsafe takes(body: $0) } }
        moved()
        pushChunk(ofAtLeast: 1)
        download.take(chunk)
        pushChunk(ofAtLeast: Download.chunkSize / 2)
        pool?.signal(self)
    }

    /// Reads a piece of a body that is collected to its final place.
    ///
    /// - Parameter missing: how many bytes of it have not arrived yet.
    /// - Returns: the number of bytes, and how the last call of `read` ended; nil if the body is not collected.
    func gather(atMost missing: Int, _ read: Scratch.Read) -> (count: Int, outcome: TunnelLink.Outcome)? {
        guard state.answer.isCollected else { return nil }
        moved()
        var body = download.takeChunk()
        let (count, outcome) = unsafe Scratch.append(atMost: missing, to: &body, read)
        download.take(body)
        return (count, outcome)
    }
}
