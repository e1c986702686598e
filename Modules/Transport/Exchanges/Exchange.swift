internal import CCurl
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// One exchange in progress: created by the caller, run by a pool on the loop.
final class Exchange: @unchecked Sendable {
    // SAFETY: variables are set by the caller before it posts the exchange to the engine, whose inbox orders the two
    // threads, and used on the loop only from then on; `isCancelled` is atomic.
    typealias Answer = Result<ExchangeResponse, LoadError>
    typealias Continuation = CheckedContinuation<Answer, Never>

    let request: ExchangeRequest
    let attempt: Attempt
    let isCancelled = Atomic(false)
    let engine: TransportEngine
    /// Set by the caller before the exchange is posted, and taken when it is answered.
    var continuation: Continuation?

    /// Read by libcurl while a transfer runs.
    private var lines: HeaderLines?
    /// Lines that differ between the exchanges of one path.
    private var proxyLines: HeaderLines?
    let upload: Upload
    private(set) var download: Download
    private var pipe: BodyPipe?
    private(set) var flow = TransferFlow()
    private var sends: SendRule
    private var clock: ExchangeClock
    let asksToContinue: Bool
    /// The connection that it has opened, on a path with one owner.
    private var madeConnection: UInt64?
    private static let connectionNumbers = Atomic<UInt64>(0)
    /// The binding to the connection with the server, if the server asks for authentication.
    private(set) var channelBinding: ChannelBinding?
    /// The server answered 417, and the request can be sent again without `Expect`: read by the caller after the
    /// answer.
    private(set) var isExpectationRefused = false
    private var controlNumber: UInt64 = 0
    /// Whether libcurl only opens the connection, over which the exchange is then sent without it.
    var usesOwnHTTP = false
    /// Bytes of the request that were sent over our own connections, in all attempts.
    var sentOnConnections = 0
    private(set) var pool: Pool?
    private(set) var queueTime = Duration.zero
    /// The TLS facts while the connection exists; nil if no report is wanted.
    private(set) var tls: TLSFacts?
    private(set) var requestDone: LoopInstant?

    /// - Parameter endpoint: the endpoint of the request's URL.
    init(_ request: ExchangeRequest, to endpoint: Endpoint, engine: TransportEngine) throws(LoadError) {
        self.request = request
        self.engine = engine
        let origin = Origin(
            endpoint: endpoint, isSecure: request.url.isSecure, isHTTP1Only: request.protocols == .http1Only)
        attempt = Attempt(OriginClaim(origin: origin, limit: request.connectionsPerOrigin))
        guard request.method != .connect else {
            throw LoadError(.invalidRequest, at: .routing, "A tunnel is opened by other means than a request.")
        }
        upload = try Upload(request.body)
        asksToContinue = request.asksToContinue
        download = Download(headerLimit: request.headerLimit.bytes)
        sends = SendRule(isIdempotent: request.isIdempotent, requiredConnection: request.requiredConnection)
        clock = ExchangeClock(deadline: request.deadline, idleTimeout: request.idleTimeout)
    }

    /// Connects the exchange to its control, until it ends. Called once, by the caller before the start.
    func attachControl() {
        guard let control = request.control else { return }
        controlNumber = control.attach { [self] in engine.post(.controlChanged(self)) }
    }

    // MARK: Commands, on the loop

    /// With HTTP/2, a slow reader would delay the answers of others.
    var mayStallOthers: Bool {
        request.collectsUpTo == nil && request.url.isSecure && request.protocols == .automatic
    }

    func start(in pool: Pool) {
        self.pool = pool
        pool.start(self)
        if !attempt.hasBegun { pool.watchdog.watch(self) }
    }

    func resumeReceiving() {
        if flow.readerHasRoom() { flowChanged() }
    }

    func resumeSending() {
        guard upload.isPaused else { return }
        upload.resumed()
        flowChanged()
    }

    private func flowChanged() {
        guard let connection = attempt.connection, let pool else { return }
        clock.active(at: pool.now)
        connection.flowChanged(flow, isSendingPaused: upload.isPaused)
        pool.scheduleTurn()
    }

    /// It was suspended or resumed, or its priority changed.
    func controlChanged() {
        guard let pool else { return }
        guard attempt.hasBegun else { return pool.requeue(self) }
        if flow.hold(isSuspended, hasSent: sends.isBegun) { flowChanged() }
    }

    /// Answers an exchange that never reached a pool.
    func refuse(_ failure: LoadError) {
        upload.end()
        request.control?.detach(controlNumber)
        report(failure)
        continuation.take()?.resume(returning: .failure(failure))
    }

    // MARK: Time

    /// The earliest instant at which the exchange may be overdue in its present state.
    var dueAt: LoopInstant { clock.dueAt(hasBegun: attempt.hasBegun) }

    func overdue(at now: LoopInstant) -> LoadError? {
        clock.overdue(at: now, hasBegun: attempt.hasBegun, isPaused: isPaused, step: attempt.reachedStep)
    }

    private func active() { if let pool { clock.active(at: pool.now) } }
}

// MARK: Pool

extension Exchange: PoolMember {
    var isPaused: Bool { !flow.mayReceive || upload.isPaused }
    var isSuspended: Bool { request.control?.isSuspended ?? false }
    var urgency: Urgency { request.control.map { Urgency($0.priority) } ?? .standard }
    var tlsVersion: TLSVersion? {
        guard request.url.isSecure, sends.isBegun else { return nil }
        return attempt.connection?.tlsFacts.flatMap { TLSVersion(openSSL: $0.version) }
    }

    /// It starts, on an existing connection or by opening one.
    func begins() {
        active()
        queueTime = .nanoseconds(clock.lastActivity.nanoseconds - attempt.start.nanoseconds)
        pool?.watchdog.watch(self)
    }

    func begins(with handle: EasyHandle) {
        begins()
        handle.set(CURLOPT_URL, request.url.absoluteText)
        // A path whose exchanges have their own proxy authorization has no common lines.
        proxyLines = request.proxyAuthorization.flatMap(HeaderLines.init(proxyAuthorization:))
        if let proxyLines {
            unsafe handle.set(CURLOPT_PROXYHEADER, pointer: UnsafeMutableRawPointer(proxyLines.list))
        }
        let milliseconds = request.connectTimeout.wholeNanoseconds / 1_000_000
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, milliseconds)))
        handle.set(CURLOPT_FORBID_REUSE, 0)
        if usesOwnHTTP { dials(with: handle) } else { transfers(with: handle) }
    }

    private func dials(with handle: EasyHandle) {
        // A handle that has opened a connection for others keeps it.
        handle.isPlain = false
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        // An idle connection of libcurl's own has separate TLS state.
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_PIPEWAIT, 0)
        if pool?.configuration.path.proxy != nil { handle.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
    }

    private func transfers(with handle: EasyHandle) {
        lines = HeaderLines(request.headerFields, extra: upload.extraLines(for: request))
        unsafe handle.set(CURLOPT_HTTPHEADER, pointer: lines.map { unsafe UnsafeMutableRawPointer($0.list) })
        let isPlainHTTP = request.protocols == .http1Only || !request.url.isSecure
        let version = isPlainHTTP ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS
        handle.set(CURLOPT_HTTP_VERSION, Int(version))
        // With this, libcurl 7.88 waits for any connection to the host that is being opened, even if it cannot be
        // shared, and then for the end of its exchange.
        let mayShare = !isPlainHTTP && attempt.claim.map { pool?.mayShare($0.origin) == true } == true
        handle.set(CURLOPT_PIPEWAIT, mayShare ? 1 : 0)
        upload.configure(handle, request)
    }

    func finished(_ failure: LoadError?) {
        let failure = failure.map { attempt.failure ?? upload.failure ?? $0 } ?? truncation
        upload.end()
        request.control?.detach(controlNumber)
        if !isExpectationRefused {
            report(failure)
            if failure == nil || download.isHeadWhole { answer(isComplete: failure == nil) }
        }
        if let continuation = continuation.take() {
            pool?.answer(continuation, with: .failure(failure ?? Self.headless()))
        }
        pipe?.finish(failure, trailers: download.head.trailerFields)
        pipe = nil
        pool = nil
    }

    /// A body that ends with the connection is complete only if TLS was closed properly (RFC 9112 §9.8).
    private var truncation: LoadError? {
        guard let last = attempt.handshakes.last, !last.isEnded,
            download.isDelimitedByClose(isHead: request.method == .head)
        else { return nil }
        return LoadError(.connectionLost, at: .response, "The connection ended without close_notify.")
    }

    private static func headless() -> LoadError {
        LoadError(.connectionLost, at: .response, "The connection ended before the head of the answer was whole.")
    }

    func turnEnds() {
        guard pool != nil else { return }
        if flow.turnEnds() { flowChanged() }
        if !download.isGathered { answer(isComplete: false) }
    }

    /// Passes on what has arrived: first the head, then the available bytes.
    private func answer(isComplete: Bool) {
        guard download.isHeadWhole else { return }
        guard let continuation = continuation.take() else { return pushChunk() }
        if isComplete && pipe == nil && !download.head.hasTrailers {
            return resume(continuation, with: ResponseBody(download.takeChunk()))
        }
        let pipe = openPipe()
        pushChunk()
        resume(continuation, with: ResponseBody(pipe))
    }

    private func resume(_ continuation: Continuation, with body: ResponseBody) {
        var facts = HopFacts(url: request.url, over: connectionFacts)
        facts.timing = timing
        facts.retries = sends.retries
        facts.earlyHints = download.head.earlyHints
        let response = ExchangeResponse(head: download.head.response, body: body, facts: facts)
        pool?.answer(continuation, with: .success(response))
    }

    private func openPipe() -> BodyPipe {
        if let pipe { return pipe }
        let pipe = BodyPipe(
            watermarks: watermarks,
            hooks: .init(
                hasRoom: { [self] in engine.post(.resumeReceiving(self)) },
                wasDiscarded: { [self] in engine.post(.cancel(self)) }))
        self.pipe = pipe
        return pipe
    }

    private var watermarks: BodyPipe.Watermarks {
        guard let limit = request.collectsUpTo?.bytes, download.isHTTP2 else { return .standard }
        let high = max(BodyPipe.Watermarks.standard.high, limit)
        return BodyPipe.Watermarks(low: high, high: high)
    }

    private func pushChunk() {
        guard !download.chunk.isEmpty else { return }
        if case .full = openPipe().push(download.takeChunk()) { flow.readerIsFull() }
    }
}

// MARK: Callbacks

extension Exchange {
    func willConnect(_ descriptor: Int32) -> Bool {
        let verdict = sends.willConnect(hasSentNothing: hasSentNothing, canStartAnew: upload.canStartAnew)
        guard obeys(verdict) else { return false }
        attempt.step = .connect
        pool?.opened(descriptor, to: attempt.claim?.origin)
        if pool?.configuration.path.owner != nil {
            madeConnection = Self.connectionNumbers.add(1, ordering: .relaxed).newValue
        }
        return true
    }

    func willHandshake(_ context: OpaquePointer) {
        guard let pool else { return }
        unsafe attempt.willHandshake(pool.configuration, context)
    }

    func willSendRequest() -> Bool {
        // libcurl asks this before it reports the connection, even if it sends nothing.
        if usesOwnHTTP, attempt.handle != nil { return true }
        if let madeConnection { pool?.connectionNumber = madeConnection }
        let verdict = sends.willSend(
            over: pool?.connectionNumber, hasSentNothing: hasSentNothing, canStartAnew: upload.canStartAnew)
        guard obeys(verdict) else { return false }
        attempt.step = upload.isSent ? .response : .request
        active()
        if request.reporter != nil, request.url.isSecure { tls = attempt.connection?.tlsFacts }
        if flow.requestIsSent() { pool?.signal(self) }
        if let pool, let origin = attempt.claim?.origin, let handshake = attempt.serverHandshake {
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
        attempt.handle?.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// In all attempts.
    private var hasSentNothing: Bool { sentOnConnections == 0 && attempt.handle?.hasSentNothing ?? true }

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

    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        guard attempt.step == .request || attempt.step == .response else {
            active()
            return unsafe attempt.relayAnswer.received(line)
        }
        var position = 0
        return unsafe read(line, at: &position)
    }

    /// A connection with our own HTTP/1.1 carries the exchange.
    func expectsHTTP1(after last: FieldList) { download.expectsHTTP1(after: last) }

    /// The exchange has ended, and another one follows on its connection.
    func takeFields() -> FieldList { download.takeFields() }

    /// Reads lines of the head, or a trailer line; moves the position to their end.
    ///
    /// - Returns: whether the exchange continues; if not, the attempt's failure is the reason, if there is one.
    func read(_ lines: UnsafeRawBufferPointer, at position: inout Int) -> Bool {
        let start = position
        let outcome = unsafe download.read(lines, at: &position)
        // A line that grows without end counts as idle.
        if position > start { active() }
        attempt.step = .response
        switch outcome {
        case .more: return true
        case .whole: return headIsWhole()
        case .tooLong: attempt.failure = tooLong
        case .switched:
            attempt.failure = LoadError(
                .protocolViolation, at: .response, "The server changed the protocol unasked.")
        case .malformed:
            attempt.failure = LoadError(
                .protocolViolation, at: .response, "A line of the header block is not one of HTTP.")
        }
        return false
    }

    private func headIsWhole() -> Bool {
        let status = download.head.framing.status
        // RFC 9110 §15.5.2.
        if request.url.isSecure, status == 401 { channelBinding = attempt.connection?.channelBinding }
        // RFC 9110 §15.5.18: the server does not fulfil `Expect`.
        if asksToContinue, status == 417, upload.canStartAnew {
            isExpectationRefused = true
            return false
        }
        if request.method != .head { download.gather(upTo: request.collectsUpTo?.bytes) }
        pool?.signal(self)
        return true
    }

    /// Reads a piece of a body that is collected.
    ///
    /// - Parameter missing: how many bytes of it have not arrived yet.
    /// - Returns: the number of bytes, and how the last call of `read` ended; nil if the body is not collected.
    func gather(atMost missing: Int, _ read: Scratch.Read) -> (count: Int, outcome: TunnelLink.Outcome)? {
        guard download.isGathered else { return nil }
        active()
        return unsafe download.read(atMost: missing, read)
    }

    /// Passes on a piece of the body without copying.
    func takes(chunk: [UInt8]) {
        guard !download.isGathered else { return unsafe chunk.withUnsafeBytes { unsafe takes(body: $0) } }
        active()
        if !download.chunk.isEmpty { pushChunk() }
        download.take(chunk)
        if chunk.count >= Download.chunkSize / 2 { pushChunk() }
        pool?.signal(self)
    }

    func received(body: UnsafeRawBufferPointer) -> Int {
        guard flow.mayReceive else { return Int(CURL_WRITEFUNC_PAUSE) }
        unsafe takes(body: body)
        return body.count
    }

    /// Takes a piece of the body, even if its reader has no room for more.
    func takes(body: UnsafeRawBufferPointer) {
        active()
        unsafe download.append(body)
        guard !download.isGathered else { return }
        if download.chunk.count >= Download.chunkSize { pushChunk() }
        pool?.signal(self)
    }

    var tooLong: LoadError {
        LoadError(.responseTooLarge, at: .response, "The header block is longer than \(request.headerLimit).")
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
        guard !flow.isHeld else { return .paused }
        active()
        let piece = upload.next(atMost: limit) { [weak self] in self.map { $0.engine.post(.resumeSending($0)) } }
        request.control?.sent(upload.sentBytes, of: upload.totalBytes)
        if upload.isComplete {
            attempt.step = .response
            requestDone = clock.lastActivity
        }
        return piece
    }

    func rewindBody() -> Bool { sends.mayBeSentAgain(hasSentNothing) && upload.rewind() || failsOnce() }

    /// Whether the exchange may discover by sending that its connection has ended. An exchange that must not be sent
    /// twice, or not over another connection, checks the connection first.
    var maySendAgain: Bool { request.isIdempotent && request.requiredConnection == nil }

    /// Whether the request may be sent through another relay: nothing of an answer has come, and it is idempotent or
    /// nothing of it was sent.
    var mayMove: Bool {
        request.requiredConnection == nil && pool?.configuration.path.owner == nil && !download.head.hasBegun
            && upload.canStartAnew && sends.mayBeSentAgain(hasSentNothing)
    }

    /// Whether the request was sent and nothing of an answer has come.
    var awaitsAnswer: Bool { sends.isBegun && !download.head.hasBegun && !isPaused }

    /// When a byte came or went last.
    var lastActivity: LoopInstant { clock.lastActivity }

    /// Ends the exchange instead of sending it a second time.
    func failsOnce() -> Bool {
        attempt.failure = LoadError(
            .connectionLost, at: .request, "The connection ended, and the request is not one to be sent twice.")
        return false
    }
}
