internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// What an exchange decides: whether its request is sent, and sent again; in which directions bytes flow; when it is
/// late; and what is passed on of the answer. A value without I/O and without bytes: ``Exchange`` tells it what has
/// happened, and carries out what it says.
struct ExchangeState {
    /// What has come of the answer.
    var answer: AnswerState
    private(set) var flow = TransferFlow()
    private var sends: SendRule
    private var clock: ExchangeClock
    /// A byte of the request was sent over one of our own connections, in any attempt.
    private(set) var hasSentBytes = false

    init(_ request: borrowing ExchangeRequest) {
        answer = AnswerState(request)
        sends = SendRule(isIdempotent: request.isIdempotent, requiredConnection: request.requiredConnection)
        clock = ExchangeClock(due: request.due, idleTimeout: request.idleTimeout)
    }

    // MARK: Time

    var lastActivity: LoopInstant { clock.lastActivity }

    /// It began, or bytes came or went.
    mutating func moved(at now: LoopInstant) { clock.active(at: now) }

    /// The earliest instant at which the exchange may be overdue in its present state.
    func dueAt(hasBegun: Bool) -> LoopInstant { clock.dueAt(hasBegun: hasBegun) }

    /// The time has come to look whether it is overdue.
    ///
    /// - Returns: the error if it is.
    mutating func timePassed(
        until now: LoopInstant, hasBegun: Bool, isSendingPaused: Bool, step: LoadError.Step
    ) -> LoadError? {
        clock.overdue(at: now, hasBegun: hasBegun, isPaused: !flow.mayReceive || isSendingPaused, step: step)
    }

    // MARK: Sending

    var isSendingBegun: Bool { sends.isBegun }
    var retries: Int { sends.retries }

    /// A connection is about to be opened for the request.
    func willConnect(hasSentNothing: Bool, canStartAnew: Bool) -> SendRule.Verdict {
        sends.willConnect(hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
    }

    /// The request is about to be sent.
    ///
    /// - Parameter connection: the number of the connection; nil if connections have no numbers.
    mutating func willSend(over connection: UInt64?, hasSentNothing: Bool, canStartAnew: Bool) -> SendRule.Verdict {
        sends.willSend(over: connection, hasSentNothing: hasSentNothing, canStartAnew: canStartAnew)
    }

    /// Whether the request may be sent again after its connection ended.
    func connectionEnded(hasSentNothing: Bool) -> Bool { sends.mayBeSentAgain(hasSentNothing) }

    /// Bytes of the request were sent over one of our own connections.
    mutating func sentBytes() { hasSentBytes = true }

    // MARK: Flow

    /// The app suspended or resumed the load.
    ///
    /// - Returns: whether the connection is to be told now.
    mutating func controlChanged(isSuspended: Bool) -> Bool { flow.hold(isSuspended, hasSent: sends.isBegun) }

    /// - Returns: whether the connection is to be told at the end of the turn.
    mutating func requestWasSent() -> Bool { flow.requestIsSent() }

    /// - Returns: whether the connection is to be told.
    mutating func readerHasRoom() -> Bool { flow.readerHasRoom() }

    /// The pipe took a chunk.
    mutating func pushed(_ result: BodyPipe.PushResult) { if case .full = result { flow.readerIsFull() } }

    /// - Returns: whether the connection is to be told.
    mutating func turnEnded() -> Bool { flow.turnEnds() }
}

/// How far the answer of an exchange has come, and what is passed on of it next: the head first, then the bytes of the
/// body. A value that has no bytes itself.
struct AnswerState {
    private enum Phase {
        /// The caller waits for the head.
        case awaited
        /// The caller waits for the head, and the pipe has the first bytes of the body.
        case piped
        /// The caller has the head, and reads the body from the pipe.
        case streaming
        /// The caller is to send the request again without `Expect`.
        case expectationRefused
        /// The caller has all of it, or an error.
        case over
    }

    /// What has arrived, and was not passed on yet.
    struct Arrival {
        var isHeadWhole = false
        var hasTrailers = false
        var hasBytes = false
    }

    /// What the exchange passes on.
    enum Delivery: Equatable {
        case nothing
        /// To the caller: the head, with the bytes as the whole body.
        case whole
        /// To the caller: the head, with the pipe, into which the bytes go first.
        case head
        /// Into the pipe: the bytes.
        case bytes
    }

    /// How the exchange ends for its caller.
    enum Ending: Equatable {
        case expectationRefused
        /// With what was received last; the pipe tells the reader of the rest.
        case delivered(Delivery)
        /// With an error instead of an answer.
        case unanswered
    }

    /// What a whole head means for the exchange.
    enum Verdict: Equatable {
        /// - Parameter isUnauthorized: the server wants to know who asks (RFC 9110 §15.5.2).
        case goesOn(isUnauthorized: Bool)
        /// The server does not fulfil `Expect`, and the request can be sent again without (RFC 9110 §15.5.18).
        case expectationRefused
    }

    private var phase = Phase.awaited
    /// The body is collected, and passed on when it is whole: its length is known, and its reader wants it at once.
    private(set) var isCollected = false
    /// The request asks for `100 Continue`.
    let asksToContinue: Bool
    let isHead: Bool
    private let collectsUpTo: Int?

    init(_ request: borrowing ExchangeRequest) {
        asksToContinue = request.asksToContinue
        // Methods are compared as texts, which is quick if they are equal: so the common case comes first.
        isHead = request.method != .get && request.method == .head
        collectsUpTo = request.collectsUpTo?.bytes
    }

    var isExpectationRefused: Bool { phase == .expectationRefused }

    /// As many bytes as may wait in the pipe. Those of a collected body over HTTP/2 all may, so that they do not hold up
    /// other streams of the connection.
    func pipeLimit(_ framing: AnswerFraming) -> Int? { framing.minorVersion == nil ? collectsUpTo : nil }

    /// The head is whole.
    ///
    /// - Parameter canStartAnew: whether the request's body can be sent from its start.
    mutating func headArrived(_ framing: AnswerFraming, canStartAnew: Bool) -> Verdict {
        if asksToContinue, framing.status == 417, canStartAnew {
            phase = .expectationRefused
            return .expectationRefused
        }
        if let collectsUpTo, let length = framing.contentLength, length <= collectsUpTo, !isHead,
            200..<300 ~= framing.status
        {
            isCollected = true
        }
        return .goesOn(isUnauthorized: framing.status == 401)
    }

    /// The body has come so far that some of it is passed on, even before the head.
    ///
    /// - Returns: whether its bytes go into the pipe now.
    mutating func bytesAreDue() -> Bool {
        guard !isCollected else { return false }
        if phase == .awaited { phase = .piped }
        return true
    }

    /// All that came in one turn has been received.
    mutating func turnEnded(_ arrival: Arrival) -> Delivery {
        isCollected ? .nothing : next(arrival, isComplete: false)
    }

    /// The exchange is over.
    ///
    /// - Parameter isComplete: whether it ended without a failure.
    mutating func ended(_ arrival: Arrival, isComplete: Bool) -> Ending {
        let delivery = next(arrival, isComplete: isComplete)
        let isAnswered = phase == .streaming || phase == .over
        let isRefused = phase == .expectationRefused
        phase = .over
        return isRefused ? .expectationRefused : isAnswered ? .delivered(delivery) : .unanswered
    }

    private mutating func next(_ arrival: Arrival, isComplete: Bool) -> Delivery {
        guard arrival.isHeadWhole else { return .nothing }
        switch phase {
        case .awaited where isComplete && !arrival.hasTrailers:
            phase = .over
            return .whole
        case .awaited, .piped:
            phase = .streaming
            return .head
        case .streaming: return arrival.hasBytes ? .bytes : .nothing
        case .expectationRefused, .over: return .nothing
        }
    }
}
