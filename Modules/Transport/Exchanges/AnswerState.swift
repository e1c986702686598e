internal import HTTPTypes
internal import SallyportBase

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

    init(_ request: ExchangeRequest) {
        asksToContinue = request.asksToContinue
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
