internal import CCurl
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

// What its connection tells an exchange and asks of it: libcurl's callbacks, and our own HTTP/1.1.
extension Exchange {
    // MARK: Sending

    func willConnect(_ descriptor: Int32) -> Bool {
        let verdict = state.willConnect(hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
        guard obeys(verdict) else { return false }
        attempt.step = .connect
        pool?.opened(descriptor, to: attempt.claim?.origin)
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
        // The first time, nothing was sent.
        let hasSentNothing = !state.isSendingBegun || hasSentNothing
        let verdict = state.willSend(
            over: pool.connectionNumber, hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
        guard obeys(verdict) else { return false }
        attempt.step = upload?.isSent ?? true ? .response : .request
        moved()
        if request.reporter != nil, request.url.isSecure { notes.tls = attempt.connection?.tlsFacts }
        if state.requestWasSent() { pool.signal(self) }
        if let origin = attempt.claim?.origin, let handshake = attempt.serverHandshake {
            pool.learned(origin, isMultiplexed: handshake.choseHTTP2)
        }
        givesWay()
        return true
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
        attempt.failure = outcome.failure(request.headerLimit)
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
