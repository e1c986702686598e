internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// What was seen on the way of an exchange, for its facts and its report.
struct ExchangeNotes {
    private static let connectionNumbers = Atomic<UInt64>(0)

    /// How long it waited for its turn; nil before that. It has its turn once, however often it is sent.
    var queueTime: Duration?
    /// The TLS facts while the connection exists; nil if no report is wanted.
    var tls: TLSFacts?
    /// That of libcurl's connection that the request is sent over, which another exchange may have made; nil without TLS.
    var handshake: HandshakeRecord?
    var requestDone: LoopInstant?
    /// The binding to the connection with the server, if the server asks for authentication.
    var channelBinding: ChannelBinding?
    /// The number of the connection that it has opened, on a path with one owner.
    var madeConnection: UInt64?

    static func nextConnection() -> UInt64 { connectionNumbers.add(1, ordering: .relaxed).newValue }
}

// The facts of an exchange once it has a response, or has ended.
extension Exchange {
    func response(_ body: ResponseBody) -> ExchangeResponse {
        var facts = HopFacts(url: handle.request.url, over: connectionFacts)
        facts.timing = timing
        facts.retries = state.retries
        let (head, hints) = download.answer()
        facts.earlyHints = hints
        return ExchangeResponse(head: head, body: body, facts: facts)
    }

    func report(_ failure: LoadError?) {
        guard let reporter = request.reporter else { return }
        var report = ExchangeReport()
        report.failure = failure
        report.end = attempt.elapsed(until: .now)
        if let connection = attempt.connection {
            (report.timing, report.connection) = (timing, connectionFacts.facts)
            report.dialed = attempt.dialTime
            report.requestDone = notes.requestDone.map(attempt.elapsed)
            (report.sent, report.received) = (connection.sentBytes, connection.receivedBytes)
        }
        (report.tlsVersion, report.tlsCipher) = (notes.tls?.version, notes.tls?.cipher)
        reporter(report)
    }

    private var timing: ExchangeTiming {
        let isDirect = pool?.configuration.path.isDirect ?? true
        let queue = notes.queueTime ?? .zero
        if let timing = attempt.connection?.timing(of: attempt, queue: queue, isDirect: isDirect) { return timing }
        var timing = ExchangeTiming()
        timing.queue = queue
        return timing
    }

    private var connectionFacts: SharedConnectionFacts {
        guard let connection = attempt.connection else { return .none }
        let shared = connection.facts(of: attempt, on: pool?.configuration.path)
        let number = pool?.configuration.path.owner == nil ? nil : pool?.connectionNumber
        guard number != nil || notes.channelBinding != nil else { return shared }
        var facts = shared.facts
        (facts.number, facts.channelBinding) = (number, notes.channelBinding)
        return SharedConnectionFacts(facts)
    }
}
