internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// A connection opened by libcurl, over which exchanges are then carried one after the other without libcurl (RFC
/// 9112). On the loop only.
///
/// If the server sends bytes while there is no exchange, they answer no request, and the connection is closed.
final class HTTP1Connection: HTTPConnection, IdleConnection, DescriptorHandler, TurnTaker {
    /// The most bytes that are read in one turn of the loop.
    static let turn = BodyPipe.Watermarks.body.low
    /// How long an idle connection may still be used, in nanoseconds: servers close theirs before long.
    private static let longestIdleness: Int64 = 118_000_000_000

    let origin: Origin
    let descriptor: Int32
    /// Keeps libcurl's part of the connection alive; nil once that is closed.
    private var handle: EasyHandle?
    private unowned let pool: Pool
    private var link: TunnelLink
    private let isTLSWithServer: Bool
    /// Of the first exchange, and of all others.
    private let madeFacts: SharedConnectionFacts
    private let reusedFacts: SharedConnectionFacts
    private let hostLine: [UInt8]

    private(set) var exchange: Exchange?
    private var exchanges = 0
    /// Reads the body; nil before the head is complete. Changed apart and put back, so that exclusive access to it
    /// costs nothing at run time.
    private var body: BodyReader?
    /// Changed by ``change(_:)``, or replaced.
    private var sending = RequestSending()
    /// An incomplete line, with the bytes after it.
    private var rest: [UInt8] = []
    private var isAnswerWhole = false
    /// The connection serves no further exchange.
    private var isSpent = false
    /// Nothing more is read or sent.
    private var isClosed = false
    private var sentBody = 0
    private var headBytes = 0
    /// Of the last head, between exchanges.
    private var lastFields: FieldList?
    private var received = LoadRecord.Bytes()
    private var sentAt = LoopInstant.never
    private var firstByteAt: LoopInstant?
    private let briefWait: BriefWait
    /// The caller's thread waits for the answer: the loop does not watch for it.
    private var isLent = false
    private(set) var idleSince = LoopInstant.never

    /// There may be unread bytes that the socket does not report.
    private var isReadable = true
    private var readInterest = Interest.read
    private var sendInterest = Interest.none
    private var watched = Interest.none
    private var isFlooding = false
    /// The last turn ended before all that had come was read: the next one goes on.
    var isTurnDue = false
    private lazy var continueTimer = LoopTimer { [weak self] in
        self?.mayContinue()
        self?.receive()
    }
    private var threshold = ReceiveThreshold()
    private lazy var thresholdTimer = LoopTimer { [weak self] in self?.thresholdIsDue() }

    init(_ link: TunnelLink, made handle: EasyHandle, by exchange: Exchange, to origin: Origin, in pool: Pool) {
        self.link = link
        self.handle = handle
        self.origin = origin
        self.pool = pool
        briefWait = BriefWait(pool.share.waitLimits)
        descriptor = link.descriptor
        isTLSWithServer = exchange.attempt.serverHandshake != nil
        var facts = exchange.attempt.connectionFacts(handle, proxy: pool.configuration.path.proxy)
        facts.httpVersion = "HTTP/1.1"
        madeFacts = SharedConnectionFacts(facts)
        (facts.isReused, facts.proxyStatus) = (true, nil)
        reusedFacts = SharedConnectionFacts(facts)
        hostLine = RequestHead.hostLine(for: exchange.request)
    }

    // MARK: Exchanges

    /// Sends a request, and passes the response to its exchange.
    func carry(_ exchange: Exchange) {
        self.exchange = exchange
        exchanges += 1
        (isAnswerWhole, firstByteAt) = (false, nil)
        (received, sentBody) = (LoadRecord.Bytes(), 0)
        body = nil
        sentAt = pool.now
        // An idle connection has nothing to read.
        isReadable = !isReused
        guard exchange.willSendRequest() else { return fail(exchange.attempt.failure ?? .cancelled()) }
        begin(exchange)
        lend()
        send()
        receive()
        if isLent, !sending.isOver { takeBack(hasBytes: false) }
    }

    private func begin(_ exchange: Exchange) {
        exchange.download.expectsHTTP1(after: lastFields.take() ?? FieldList(remembers: true))
        var head = change { $0.takeStorage() }
        let handle = exchange.handle
        let body = handle.body
        RequestHead.append(handle.request, with: body, to: &head, host: hostLine)
        headBytes = head.count
        let awaitsContinue = exchange.state.answer.asksToContinue
        sending = RequestSending(
            head: head, hasBody: body.hasBody, isChunked: body.isChunked, awaitsContinue: awaitsContinue)
        // A short body goes with the head. The app's closure is only asked once the head has gone: its bytes may not be
        // there a second time, for another connection.
        if body.isInMemory { _ = fill(exchange) }
        guard awaitsContinue else { return }
        let limit = exchange.request.continueTimeout ?? .seconds(1)
        pool.loop.set(continueTimer, at: pool.now.advanced(by: max(limit, .milliseconds(1))))
    }

    /// The server has requested the body, or did not respond in time.
    private func mayContinue() {
        pool.loop.set(continueTimer, at: nil)
        sending.mayContinue()
        send()
    }

    /// The exchange has ended, or was given up. The connection is kept for others if it can be reused.
    ///
    /// - Returns: whether it can.
    func release() -> Bool {
        if let exchange { lastFields = exchange.download.takeFields() }
        exchange = nil
        guard !isClosed, isAnswerWhole, sending.isOver, !isSpent, !isReadable || hasNothingToRead else { return false }
        idleSince = pool.now
        (isReadable, isLent) = (false, false)
        watch()
        return true
    }

    /// Whether the connection is open, and the server has sent nothing since the last answer. TLS records without data,
    /// such as tickets, are ignored.
    var hasNothingToRead: Bool {
        var byte: UInt8 = 0
        let outcome = unsafe withUnsafeMutableBytes(of: &byte) { unsafe link.receive(into: $0) }
        guard case .waits(let interest) = outcome else { return false }
        readInterest = interest
        return true
    }

    /// The same, as the loop has seen it within the last millisecond: this spares most requests a call into the kernel.
    /// Bytes that come so shortly before a request may as well come while it is on its way, when nothing tells them
    /// from its answer.
    var seemsSilent: Bool { pool.loop.isQuiet(descriptor) || hasNothingToRead }

    /// Whether it may still be used after it has idled.
    var isFresh: Bool { pool.now < idleSince.advanced(byNanoseconds: Self.longestIdleness) }

    // MARK: Sending

    private func send() {
        sendInterest = .none
        while let exchange, !sending.isOver {
            if sending.isSent {
                guard fill(exchange) else { return }
                continue
            }
            switch unsafe sending.withNext({ unsafe link.send($0) }) {
            case .moved(let count), .drained(let count): sent(count, exchange)
            case .waits(let interest): return sendInterest = interest
            // The server's last bytes before it closed may still be unread.
            case .ended: return giveUpSending()
            case .failed:
                link.sendFailed()
                return giveUpSending()
            }
        }
        if isAnswerWhole { finish() }
    }

    private func sent(_ count: Int, _ exchange: Exchange) {
        if count > 0 {
            exchange.state.sentBytes()
            // A slow server may take one piece of a body for longer than the idle time-out.
            exchange.moved()
        }
        change { $0.sent(count) }
    }

    /// Changes ``sending`` apart and puts it back, so that exclusive access to it costs nothing at run time.
    private func change<Result>(_ change: (inout RequestSending) -> Result) -> Result {
        var changed = RequestSending()
        swap(&changed, &sending)
        defer { swap(&changed, &sending) }
        return change(&changed)
    }

    /// - Returns: whether there is something to send, or there will be nothing more.
    private func fill(_ exchange: Exchange) -> Bool {
        guard sending.phase == .body else { return false }
        switch exchange.piece(atMost: RequestSending.portion) {
        case .bytes(let piece):
            change { $0.append(piece) }
            sentBody += piece.count
            if exchange.upload?.isComplete ?? true { change { $0.bodyIsWhole() } }
            return true
        case .end:
            change { $0.bodyIsWhole() }
            return true
        case .paused: return false
        case .failed:
            fail(
                exchange.upload?.failure
                    ?? LoadError(.requestBodyFailed, at: .request, "The request's body ended early."))
            return false
        }
    }

    var hasGivenUpSending: Bool { sending.phase == .isGivenUp }

    private func giveUpSending() {
        waitsNoLonger()
        sending.giveUp()
        isSpent = true
        isReadable = true
        if isAnswerWhole { finish() }
    }

    /// The body will not be sent: it does not wait for `100 Continue` any more. The loop keeps a timer that is set,
    /// even if its connection is gone.
    private func waitsNoLonger() {
        if sending.phase == .awaitsContinue { pool.loop.set(continueTimer, at: nil) }
    }

    // MARK: Receiving

    private func receive() {
        receiveFirst()
        var allowance = Self.turn
        while isReadable, let exchange, exchange.flow.mayReceive, !isAnswerWhole {
            // Its reader goes on until the pipe is full: the loop would have to be woken for the rest.
            guard allowance > 0 || pool.loop.isBorrowed else {
                pool.loop.callNextTurn(self)
                break
            }
            let (count, outcome) = gather(for: exchange) ?? takeSome(for: exchange)
            allowance -= count
            switch outcome {
            case .ended: connectionEnded(isProper: true)
            case .failed: connectionEnded(isProper: false)
            case .moved, .drained, .waits: break
            }
        }
        guard !isClosed else { return }
        if threshold.hasRead(Self.turn - allowance, missing: body?.missing ?? 0) { setThreshold() }
        watch()
    }

    private func setThreshold() {
        link.report(fromBytes: threshold.bytes)
        setThresholdTimer()
    }

    private func setThresholdTimer() {
        pool.loop.set(thresholdTimer, at: threshold.isRaised ? pool.now.advanced(by: ReceiveThreshold.patience) : nil)
    }

    private func thresholdIsDue() {
        guard threshold.isDue() else { return setThresholdTimer() }
        setThreshold()
        isReadable = true
        receive()
    }

    /// Reads a piece of a body to its final place.
    ///
    /// - Returns: the number of bytes; nil if something else comes next.
    private func gather(for exchange: Exchange) -> (Int, TunnelLink.Outcome)? {
        guard rest.isEmpty, let missing = body?.missing, missing > 0 else { return nil }
        let most = Int(min(missing, Int64(Self.turn)))
        guard let (count, outcome) = unsafe exchange.gather(atMost: most, { unsafe link.receive(into: $0) }) else {
            return nil
        }
        willTake(outcome)
        received.body += count
        if takesAsBody(count), body?.isWhole == true { answerIsWhole() }
        return (count, outcome)
    }

    private func takeSome(for exchange: Exchange) -> (Int, TunnelLink.Outcome) {
        let limit = body == nil ? Scratch.headLength : Scratch.length
        let (chunk, outcome) = unsafe pool.share.scratch.chunk(atMost: limit, filling: floodLength) {
            unsafe link.receive(into: $0)
        }
        isFlooding = Scratch.isMuch(chunk.count)
        willTake(outcome)
        if !chunk.isEmpty { take(chunk, exchange) }
        return (chunk.count, outcome)
    }

    /// How many bytes the next read is likely to bring of a body that comes fast; nil if it does not. As much as the
    /// kernel has when it reports, in one call: each call lets the server send more, which takes time of this thread.
    private var floodLength: Int? {
        guard isFlooding, rest.isEmpty, let body else { return nil }
        return threshold.isRaised ? min(Self.turn, Int(body.missing)) : Scratch.length
    }

    /// Reads through libcurl until the first answer begins: only within its own calls does libcurl store the tickets
    /// that arrive before the answer and by which TLS sessions are resumed (7.88).
    private func receiveFirst() {
        guard isReadable, !isReused, isTLSWithServer, firstByteAt == nil, let exchange, let handle else { return }
        let first = handle.firstBytes().bytes
        if !first.isEmpty { take(first, exchange) }
    }

    /// Called before the bytes are processed, which may end the exchange.
    private func willTake(_ outcome: TunnelLink.Outcome) {
        switch outcome {
        case .moved: break
        case .drained: waitToRead(until: .read)
        case .waits(let interest): waitToRead(until: interest)
        case .ended, .failed: (isReadable, isSpent) = (false, true)
        }
    }

    private func waitToRead(until interest: Interest) {
        isReadable = false
        readInterest = interest
    }

    private func take(_ chunk: [UInt8], _ exchange: Exchange) {
        if firstByteAt == nil { answerBegins() }
        if rest.isEmpty, takesAsBody(chunk.count) {
            received.body += chunk.count
            exchange.takes(chunk: chunk)
            return body?.isWhole == true ? answerIsWhole() : ()
        }
        let bytes = rest.isEmpty ? chunk : rest + chunk
        rest = []
        let count = unsafe bytes.withUnsafeBytes { unsafe read($0, exchange) }
        rest = count == bytes.count ? [] : Array(bytes[count...])
    }

    private func answerBegins() {
        let now = pool.now
        firstByteAt = now
        briefWait.answered(at: now, since: sentAt)
    }

    /// - Returns: how many bytes were read.
    private func read(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange) -> Int {
        var position = 0
        if body == nil {
            unsafe readHead(bytes, &position, exchange)
            received.head += position
        }
        while self.exchange === exchange, let piece = unsafe nextPiece(in: bytes, at: &position) {
            switch piece {
            case .trailer(let range):
                received.head += range.count
                unsafe took(trailer: UnsafeRawBufferPointer(rebasing: bytes[range]), exchange)
            case .body(let range):
                received.body += range.count
                unsafe exchange.takes(body: UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .more: return position
            case .end:
                if position < bytes.count { isSpent = true }
                answerIsWhole()
                return bytes.count
            case .malformed: fail(BodyReader.brokenChunks)
            }
        }
        return self.exchange === exchange ? position : bytes.count
    }

    private func takesAsBody(_ count: Int) -> Bool {
        guard var reader = body, reader.takesAsBody(count) else { return false }
        body = reader
        return true
    }

    private func nextPiece(in bytes: UnsafeRawBufferPointer, at position: inout Int) -> BodyReader.Piece? {
        guard var reader = body else { return nil }
        let piece = unsafe reader.next(in: bytes, at: &position)
        body = reader
        return piece
    }

    private func readHead(_ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ exchange: Exchange) {
        guard unsafe exchange.read(bytes, at: &position) else {
            return fail(exchange.attempt.failure ?? BodyReader.brokenChunks)
        }
        if sending.phase == .awaitsContinue, exchange.download.head.mayContinue { mayContinue() }
        if let framing = exchange.download.framing { return headIsWhole(framing, exchange) }
        let status = exchange.download.head.framing.status
        guard status == 0, unsafe !StatusLine.mayBegin(bytes[position...]) else { return }
        fail(StatusLine.missing)
    }

    private func took(trailer line: UnsafeRawBufferPointer, _ exchange: Exchange) {
        var position = 0
        guard unsafe exchange.read(line, at: &position) else {
            return fail(exchange.attempt.failure ?? BodyReader.brokenChunks)
        }
    }

    private func headIsWhole(_ framing: AnswerFraming, _ exchange: Exchange) {
        if !framing.keepsConnection { isSpent = true }
        let length = framing.bodyLength(isHead: exchange.state.answer.isHead)
        if length == .untilClose { isSpent = true }
        body = BodyReader(length, lineLimit: exchange.request.headerLimit.bytes)
        // A server that refuses a request does not read the rest of it (RFC 9112 §9.3), so the rest is not sent.
        guard !sending.isOver, framing.status >= 400 || sending.phase == .awaitsContinue else { return }
        giveUpSending()
    }

    private func answerIsWhole() {
        isAnswerWhole = true
        if sending.isOver { return finish() }
        // The loop does not watch for bytes behind the answer while the rest of the request is sent, so that whether
        // there are any is looked up at its end.
        isReadable = true
    }

    private func finish() {
        guard let exchange else { return }
        pool.completed(exchange)
    }

    // MARK: Ends

    private func connectionEnded(isProper: Bool) {
        guard let exchange else { return }
        if isProper, endsBody() {
            sending.giveUp()
            return answerIsWhole()
        }
        if firstByteAt == nil, isReused || pool.mayMove(exchange), pool.sendsAgain(exchange, isMove: !isReused) {
            return
        }
        fail(link.certificateRefusal ?? Self.lost(isProper, exchange))
    }

    /// - Returns: whether the end of the connection is the end of the body.
    private func endsBody() -> Bool {
        guard var reader = body, reader.connectionEnded() else { return false }
        body = reader
        return true
    }

    private static func lost(_ isProper: Bool, _ exchange: Exchange) -> LoadError {
        let isCut = !isProper && exchange.download.isDelimitedByClose(isHead: exchange.state.answer.isHead)
        return LoadError(
            .connectionLost, at: exchange.attempt.step,
            isCut
                ? "The connection ended without close_notify." : "The connection ended before the answer was whole.")
    }

    /// Ends the exchange; nothing more is read or sent, not even while the reason of a loss is determined.
    private func fail(_ failure: LoadError) {
        guard let exchange else { return }
        stop()
        pool.lost(exchange, exchange.attempt.failure ?? failure)
    }

    private func stop() {
        isSpent = true
        isReadable = false
        isClosed = true
        exchange = nil
        waitsNoLonger()
        if threshold.isRaised { pool.loop.set(thresholdTimer, at: nil) }
        forget()
    }

    // MARK: Readiness

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        guard exchange != nil else { return speaksUnasked() }
        isReadable = true
        if !sendInterest.isEmpty { send() }
        // A connection that asked for a turn reads in `takeTurn`, which follows the events of this turn.
        if !isTurnDue { receive() }
    }

    /// Leaves it to the caller's thread to wait for the answer, if that is worthwhile. Before the request is sent: the
    /// loop's thread would wake for an answer that is quicker than this call.
    private func lend() {
        guard pool.share.callerMayWait, briefWait.isWorthwhile, watched == .read, TransportEngine.callerIsInPool else {
            return
        }
        isLent = true
        watch()
    }

    /// Where the caller's thread waits until ``takeBack(hasBytes:)``; nil if it does not.
    var lentDescriptor: Int32? { isLent ? descriptor : nil }

    /// The loop watches for the answer again.
    func takeBack(hasBytes: Bool) {
        isLent = false
        guard hasBytes, exchange != nil else { return watch() }
        isReadable = true
        receive()
    }

    /// Reads bytes that arrive while the connection is idle.
    private func speaksUnasked() {
        if hasNothingToRead { watch() } else { pool.drop(self) }
    }

    func flowChanged(_ flow: TransferFlow, isSendingPaused: Bool) {
        if !isSendingPaused, !flow.isHeld { send() }
        receive()
    }

    /// There may be more bytes than one turn reads.
    func takeTurn() {
        guard exchange != nil else { return }
        receive()
        // What the last turn held back is released, whatever this one has found.
        if let exchange { pool.signal(exchange) }
    }

    var readsOn: Bool { isTurnDue && isReadable && exchange?.flow.mayReceive ?? false }

    private func watch() {
        guard !isClosed else { return }
        var interest = sendInterest
        // Bytes after a complete answer are also checked once the request is sent.
        if exchange.map({ $0.flow.mayReceive && !isAnswerWhole }) ?? true { interest.formUnion(readInterest) }
        if isLent { interest.remove(.read) }
        guard interest != watched else { return }
        if interest.isEmpty && !isLent { return forget() }
        watched = interest
        pool.loop.watch(descriptor, for: interest, handler: self)
    }

    private func forget() {
        watched = .none
        pool.loop.forget(descriptor)
    }

    /// Ends all use of the connection.
    ///
    /// - Returns: the handle with which libcurl closes it; nil if that was taken before.
    func takeHandle() -> EasyHandle? {
        stop()
        return handle.take()
    }

    // MARK: Facts

    var isReused: Bool { exchanges > 1 }
    /// The relay through which it leads; nil for none.
    var relay: Endpoint? { madeFacts.facts.relay }
    var tlsFacts: TLSFacts? { isTLSWithServer ? link.tlsFacts : nil }
    var channelBinding: ChannelBinding? { isTLSWithServer ? link.channelBinding : nil }
    private(set) lazy var peer: Endpoint? = handle?.peer

    var sentBytes: LoadRecord.Bytes {
        var bytes = LoadRecord.Bytes()
        (bytes.head, bytes.body) = (headBytes, sentBody)
        return bytes
    }

    var receivedBytes: LoadRecord.Bytes { received }

    func facts(of attempt: Attempt, on path: ConnectionPath?) -> SharedConnectionFacts {
        isReused ? reusedFacts : madeFacts
    }

    func timing(of attempt: Attempt, queue: Duration, isDirect: Bool) -> ExchangeTiming {
        var timing = ExchangeTiming()
        timing.queue = queue
        timing.requestSent = attempt.elapsed(until: sentAt)
        if let firstByteAt { timing.firstByte = attempt.elapsed(until: firstByteAt) }
        if !isReused, let handle { attempt.tellConnecting(to: &timing, handle, isDirect: isDirect) }
        return timing
    }
}
