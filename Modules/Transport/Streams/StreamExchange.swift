internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// One exchange over a stream: what of it was sent and received. Only its ``StreamPeer`` uses it.
final class StreamExchange {
    /// How many bytes of a body are written at once.
    private static let portion = 64 << 10

    enum Fill {
        /// There are bytes to send, or there will be no more.
        case ready
        /// The body's source has none now; ``wakes`` tells of more.
        case paused
        case failed(LoadError)
    }

    let request: ExchangeRequest
    /// Ends the caller's wait for the outcome.
    let answered = TaskSignal()
    /// Whether the outcome is known.
    private(set) var isAnswered = false
    /// Only until the caller takes it: a response that is dropped unread ends its body, unless it is kept here.
    private var outcome: Result<ExchangeResponse, LoadError>?
    var answer: StreamAnswer
    /// What the reader of the body has not taken yet; nil if the body is in one piece, and before the head.
    var pipe: BodyPipe?
    /// The reader has no room for more.
    var isReaderFull = false

    /// The request's body; nil if it has none.
    private let upload: Upload?
    private(set) var sending: RequestSending
    /// A write waits for room.
    var isWriting = false
    /// The rest of the body is being sent.
    var uploading: Task<Void, Never>?
    /// Ends the body's wait for `100 Continue`.
    let mayContinue = TaskSignal()
    /// One element for each time that the body's source has bytes again.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    private var clock: ExchangeClock
    /// The stream's count, when it was last looked at.
    private var sentBytes = 0
    private let start: LoopInstant
    private let begun = LoopInstant.now
    private var firstByteAt: LoopInstant?

    /// - Parameters:
    ///   - asked: the caller's request.
    ///   - start: when it began to wait for its turn.
    ///   - last: the fields of the stream's last answer.
    init(_ asked: ExchangeRequest, since start: LoopInstant, after last: FieldList) throws(LoadError) {
        let body = try UploadSource(asked.body)
        let request = body.isEmpty ? asked.withoutExpectation : asked
        self.request = request
        self.start = start
        upload = Upload(body)
        answer = StreamAnswer(to: request, after: last)
        clock = ExchangeClock(due: request.due, idleTimeout: request.idleTimeout)
        clock.active(at: begun)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        var head: [UInt8] = []
        RequestHead.append(request, with: body, to: &head, host: RequestHead.hostLine(for: request))
        sending = RequestSending(
            head: head, hasBody: body.hasBody, isChunked: body.isChunked, awaitsContinue: request.asksToContinue)
        // What lies in memory goes with the head.
        if body.isInMemory, sending.phase == .body { _ = fill() }
    }

    // MARK: Sending

    /// Whether nothing more of the request is sent.
    var isSendingOver: Bool { sending.phase == .isGivenUp || sending.isOver && !isWriting }

    /// Whether the request waits for the source of its body. One that is given up waits for the server alone.
    private var isSendingPaused: Bool { upload?.isPaused == true && !isSendingOver }

    /// Whether it waits for nothing but its end.
    var isOver: Bool { answer.isWhole && isSendingOver }

    /// The bytes that are next.
    func takeNext() -> [UInt8] { sending.takeNext() }

    func continues() { sending.mayContinue() }

    func giveUpSending() {
        sending.giveUp()
        mayContinue.send()
    }

    /// Takes the next bytes of the body from their source.
    func fill() -> Fill {
        guard let upload else {
            sending.bodyIsWhole()
            return .ready
        }
        let wake = wake
        switch upload.next(atMost: Self.portion, wake: { wake.yield() }) {
        case .bytes(let piece):
            sending.append(piece)
            if upload.isComplete { sending.bodyIsWhole() }
            return .ready
        case .end:
            sending.bodyIsWhole()
            return .ready
        case .paused: return .paused
        case .failed:
            let other = LoadError(.requestBodyFailed, at: .request, "The request's body ended early.")
            return .failed(upload.failure ?? other)
        }
    }

    func resumed() { upload?.resumed() }

    // MARK: Answer

    /// Reads bytes of the answer.
    func take(_ chunk: [UInt8]) -> StreamAnswer.Content {
        if firstByteAt == nil { firstByteAt = .now }
        let content = answer.take(chunk)
        if content.isProgress { active() }
        if answer.head.mayContinue { mayContinue.send() }
        return content
    }

    func respond(with body: ResponseBody, over connection: SharedConnectionFacts) {
        var facts = HopFacts(url: request.url, over: connection)
        facts.timing = timing
        facts.earlyHints = answer.head.earlyHints
        end(.success(ExchangeResponse(head: answer.head.response, body: body, facts: facts)))
    }

    /// Tells the outcome, unless it is known.
    func end(_ result: Result<ExchangeResponse, LoadError>) {
        if !isAnswered { outcome = result }
        isAnswered = true
        answered.send()
    }

    /// Hands the outcome over; nil if it is not known, or was handed over before.
    func takeOutcome() -> Result<ExchangeResponse, LoadError>? {
        defer { outcome = nil }
        return outcome
    }

    private var timing: ExchangeTiming {
        var timing = ExchangeTiming()
        timing.queue = .nanoseconds(begun.nanoseconds - start.nanoseconds)
        timing.requestSent = timing.queue
        if let firstByteAt { timing.firstByte = .nanoseconds(firstByteAt.nanoseconds - start.nanoseconds) }
        return timing
    }

    /// Ends what is left of it; nothing more is sent.
    func end() {
        giveUpSending()
        wake.finish()
        upload?.end()
        uploading?.cancel()
    }

    // MARK: Time

    func active() { clock.active(at: .now) }

    /// - Parameter sentBytes: how many bytes the stream has sent.
    func sent(_ sentBytes: Int) {
        self.sentBytes = sentBytes
        active()
    }

    /// The earliest instant at which it may be overdue.
    var dueAt: LoopInstant { clock.dueAt(hasBegun: true) }

    /// - Parameter sentBytes: how many bytes the stream has sent. A slow server may take the bytes of one write for
    ///   longer than the idle time-out: what it has taken by then counts as taken just now.
    func overdue(at now: LoopInstant, sentBytes: Int) -> LoadError? {
        if sentBytes != self.sentBytes { clock.active(at: now) }
        self.sentBytes = sentBytes
        return clock.overdue(
            at: now, hasBegun: true, isPaused: isReaderFull || isSendingPaused,
            step: firstByteAt == nil && !isSendingOver ? .request : .response)
    }
}
