internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// How far the answer of an exchange has come, and what is passed on of it: first the head, then the bytes that are
/// there. A value: the exchange tells it what has arrived, and does with the bytes what it says.
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

    /// What the exchange passes on.
    enum Delivery: Equatable {
        case nothing
        /// To the caller: the head, with the whole body.
        case whole([UInt8])
        /// To the caller: the head, with the pipe, into which these bytes go first. There may be none.
        case head([UInt8])
        /// Into the pipe.
        case chunk([UInt8])
    }

    /// How the exchange ends for its caller.
    enum Ending: Equatable {
        case expectationRefused
        /// With what was received last; the pipe tells the reader of the rest.
        case delivered(Delivery)
        /// With an error instead of an answer.
        case unanswered
    }

    /// The result of a piece of the head.
    enum HeadOutcome: Equatable {
        case more
        /// - Parameter isUnauthorized: the server wants to know who asks (RFC 9110 §15.5.2).
        case whole(isUnauthorized: Bool)
        case expectationRefused
        case failed(LoadError)
    }

    private(set) var download: Download
    private var phase = Phase.awaited
    /// The request asks for `100 Continue`.
    let asksToContinue: Bool
    private let isHead: Bool
    private let collectsUpTo: Int?
    private let headerLimit: ByteCount

    init(_ request: ExchangeRequest) {
        download = Download(headerLimit: request.headerLimit.bytes)
        asksToContinue = request.asksToContinue
        isHead = request.method == .head
        collectsUpTo = request.collectsUpTo?.bytes
        headerLimit = request.headerLimit
    }

    var isHeadWhole: Bool { download.isHeadWhole }
    var isExpectationRefused: Bool { phase == .expectationRefused }
    /// Whether only the end of the connection ends the body.
    var isDelimitedByClose: Bool { download.isDelimitedByClose(isHead: isHead) }
    /// The body is collected, and passed on when it is whole.
    var isGathered: Bool { download.isGathered }

    /// As many bytes as may wait in the pipe: those of a collected body over HTTP/2 all may, so that they do not hold up
    /// other streams of the connection.
    var watermarks: BodyPipe.Watermarks {
        guard let collectsUpTo, download.isHTTP2 else { return .standard }
        let high = max(BodyPipe.Watermarks.standard.high, collectsUpTo)
        return BodyPipe.Watermarks(low: high, high: high)
    }

    // MARK: Head

    /// One of our own connections carries the exchange.
    ///
    /// - Parameter last: the fields of the connection's last head.
    mutating func beganHTTP1(after last: FieldList) { download.expectsHTTP1(after: last) }

    /// Gives the head's fields to the next one of the connection.
    mutating func takeFields() -> FieldList { download.takeFields() }

    /// Lines of the head arrived, or a trailer line; moves the position to their end.
    ///
    /// - Parameter canStartAnew: whether the request's body can be sent from its start.
    mutating func received(
        lines: UnsafeRawBufferPointer, at position: inout Int, canStartAnew: Bool
    ) -> HeadOutcome {
        switch unsafe download.read(lines, at: &position) {
        case .more: return .more
        case .whole: return headIsWhole(canStartAnew)
        case .tooLong:
            return .failed(
                LoadError(.responseTooLarge, at: .response, "The header block is longer than \(headerLimit)."))
        case .switched: return .failed(Self.violation("The server changed the protocol unasked."))
        case .malformed: return .failed(Self.violation("A line of the header block is not one of HTTP."))
        }
    }

    private mutating func headIsWhole(_ canStartAnew: Bool) -> HeadOutcome {
        let status = download.head.framing.status
        if asksToContinue, status == 417, canStartAnew {
            phase = .expectationRefused
            return .expectationRefused
        }
        if !isHead { download.gather(upTo: collectsUpTo) }
        return .whole(isUnauthorized: status == 401)
    }

    private static func violation(_ text: String) -> LoadError { LoadError(.protocolViolation, at: .response, text) }

    // MARK: Body

    /// A piece of the body arrived.
    mutating func received(body: UnsafeRawBufferPointer) { unsafe download.append(body) }

    /// A piece of a body that is not collected arrived, to be passed on without copying; what came before was taken.
    mutating func received(chunk: [UInt8]) { download.take(chunk) }

    /// The bytes that were collected, for more to be read behind them; ``received(collected:)`` must follow.
    mutating func takeCollected() -> [UInt8] { download.takeChunk() }

    mutating func received(collected: [UInt8]) { download.take(collected) }

    /// The bytes for the pipe, if there are enough of them.
    mutating func takeChunk(ofAtLeast count: Int) -> [UInt8]? {
        guard !isGathered, download.chunk.count >= count else { return nil }
        if phase == .awaited { phase = .piped }
        return download.takeChunk()
    }

    // MARK: Delivery

    /// All that came in one turn has been received.
    mutating func turnEnded() -> Delivery { isGathered ? .nothing : deliver(isComplete: false) }

    /// The exchange is over.
    ///
    /// - Parameter isComplete: whether it ended without a failure.
    mutating func ended(isComplete: Bool) -> Ending {
        defer { phase = .over }
        if phase == .expectationRefused { return .expectationRefused }
        guard isHeadWhole else { return .unanswered }
        return .delivered(deliver(isComplete: isComplete))
    }

    private mutating func deliver(isComplete: Bool) -> Delivery {
        guard isHeadWhole else { return .nothing }
        switch phase {
        case .awaited where isComplete && !download.head.hasTrailers:
            phase = .over
            return .whole(download.takeChunk())
        case .awaited, .piped:
            phase = .streaming
            return .head(download.takeChunk())
        case .streaming: return download.chunk.isEmpty ? .nothing : .chunk(download.takeChunk())
        case .expectationRefused, .over: return .nothing
        }
    }
}
