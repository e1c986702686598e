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

    init(_ request: ExchangeRequest) {
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
