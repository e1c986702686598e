internal import CCurl
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// A member of a pool: an exchange, or the opening of a tunnel. Its methods are called on the loop.
protocol PoolMember: Attempt, EasyHandle.Client {
    /// Nil before it starts, and once it is over.
    var pool: Pool? { get }
    /// Whether this side has paused the transfer.
    var isPaused: Bool { get }
    /// Nothing may be read or sent for it now; a suspended member that has not begun does not wait for a connection.
    var isSuspended: Bool { get }
    var urgency: Urgency { get }
    /// The TLS version negotiated with the server; nil without TLS, and before the handshake.
    var tlsVersion: TLSVersion? { get }
    /// Its turn has come: makes its own settings on a handle of the pool.
    func begins(with handle: EasyHandle)
    /// The transfer is over; the handle is still in the pool.
    func finished(_ failure: LoadError?)
    /// Everything that arrived in one turn has been handled.
    func turnEnds()
    /// The earliest instant at which it may be overdue in its present state.
    var dueAt: LoopInstant { get }
    /// The error if it is idle for too long or overdue.
    func overdue(at now: LoopInstant) -> LoadError?
}

extension PoolMember {
    var isSuspended: Bool { false }
    var urgency: Urgency { .standard }

    /// Checks each address of a direct connection by the policy. If one address of a name is denied, the attempt is
    /// given up: the other addresses of such an answer are not tried.
    func mayConnect(to address: IPAddress, port: UInt16) -> Bool {
        guard let pool, let rules = pool.configuration.path.addresses else { return true }
        guard !attempt.isDenied else { return false }
        let endpoint = attempt.endpoint
        guard let rule = rules.denial(of: address, port: port, for: endpoint) else { return true }
        let decision = RouteDecision(endpoint: endpoint, route: .deny, rule: rule, addresses: rules)
        attempt.failure = LoadError(AccessDenied(.denied(decision)))
        attempt.isDenied = true
        pool.signal(self)
        return false
    }
}

/// The state of one transfer on its connection. On the loop only.
///
/// The members of pools inherit it, so that each is one object.
class Attempt {
    /// When the caller asked for it.
    final let start: LoopInstant
    /// Its claim to a connection; nil if it is not limited.
    final var claim: OriginClaim?
    final var step = LoadError.Step.routing
    /// libcurl's handle, while the transfer has one.
    final var transfer: EasyHandle?
    /// The connection that carries an exchange or opens a tunnel; nil before it begins.
    final var connection: (any HTTPConnection)?
    final var hasBegun: Bool { connection != nil }
    final var attempt: Attempt { self }
    /// How often a connection that was just opened could not be used: libcurl had closed it, or bytes had come before
    /// the request.
    final var dials = 0
    static let dialLimit = 5
    /// Whether bytes had come over its new connection before libcurl was to send the request, so that it did not.
    final var isSpokenToFirst = false
    /// One for each handshake, the relay's first.
    final var handshakes: [HandshakeRecord] = []
    /// The relays not tried yet, the one in use first.
    final var relays: ArraySlice<Endpoint> = []
    /// When its connection, or that through the first of them, was asked for.
    final private(set) var dialed = LoopInstant.never
    private final var counts = DialCounts()
    /// When its request was last about to be sent; nil before that.
    final private(set) var sentAt: LoopInstant?
    /// When the first line of the answer came through libcurl.
    final private(set) var answeredAt: LoopInstant?
    /// The relay through which it was sent before, without an answer.
    final var movedFrom: Endpoint?
    /// How often it was sent again through another relay.
    final var moves = 0
    /// Whether the caller goes on through another cluster if no relay of this one serves: then none is waited for that
    /// may be there no longer, the last one included.
    final let hasOtherCluster: Bool
    final var relayAnswer = RelayAnswer()
    final var isSignalled = false
    /// Its connection broke, and the reason is being asked for.
    final var isLost = false
    /// Among the pool's members; nil if it is none.
    final var place: Int?
    /// Set when this side ends the transfer.
    final var failure: LoadError?
    /// Whether the policy denies an address of the name: ``failure`` contains the rule.
    final var isDenied = false
    /// The protocols offered in ALPN in addition to libcurl's, in the encoding of the ClientHello.
    final var applicationProtocols: [UInt8] = []

    /// The server that the transfer is for.
    final let endpoint: Endpoint

    init(_ claim: OriginClaim, since start: LoopInstant, orByOtherCluster hasOtherCluster: Bool) {
        self.claim = claim
        self.start = start
        self.hasOtherCluster = hasOtherCluster
        endpoint = claim.origin.endpoint
    }

    /// A transfer without a limit.
    init(to endpoint: Endpoint, since start: LoopInstant, orByOtherCluster hasOtherCluster: Bool) {
        self.endpoint = endpoint
        self.start = start
        self.hasOtherCluster = hasOtherCluster
    }

    /// Forgets a connection that could not be established.
    final func startOver() {
        step = .nameLookup
        handshakes = []
        relayAnswer = RelayAnswer()
        (sentAt, answeredAt) = (nil, nil)
        isSpokenToFirst = false
    }

    /// A transfer begins, with the counts of libcurl at zero.
    final func willDial(at now: LoopInstant) { (dialed, counts) = (now, DialCounts()) }

    /// libcurl opens a socket for its connection. If the request was sent before, that is a dial of its own, which
    /// began with the look-up of the name.
    final func willOpenSocket(at now: LoopInstant) {
        guard let transfer else { return }
        let lookup = transfer.microseconds(CURLINFO_NAMELOOKUP_TIME_T)
        if sentAt != nil {
            counts.earlierLookups = counts.lookups
            counts.earlierConnects = transfer.microseconds(CURLINFO_CONNECT_TIME_T)
            dialed = now.advanced(by: counts.earlierLookups - lookup)
        }
        counts.lookups = lookup
    }

    /// The request is about to be sent.
    final func willSend(at now: LoopInstant) { (sentAt, answeredAt) = (now, nil) }

    /// A line of the answer has come.
    final func answerCame(at now: LoopInstant) { if answeredAt == nil { answeredAt = now } }

    /// How long the last dial took to look up the name; zero if it has not come so far.
    final func lookupTime(_ handle: EasyHandle) -> Duration {
        handle.microseconds(CURLINFO_NAMELOOKUP_TIME_T) - counts.earlierLookups
    }

    /// How long the last dial took until the connection was open; zero if it has not come so far.
    final func connectTime(_ handle: EasyHandle) -> Duration {
        handle.microseconds(CURLINFO_CONNECT_TIME_T) - counts.earlierConnects
    }

    /// Whether its connection was made for it, and nothing was sent over it yet.
    final var hasJustConnected: Bool {
        switch step {
        case .connect, .proxyTLS, .proxyConnect, .relayTLS, .relayConnect, .serverTLS: true
        case .routing, .nameLookup, .request, .response: false
        }
    }

    /// When an attempt that still waits for its connection is given up. libcurl keeps the time to connect of one that
    /// dials, with words of its own for it, but not of those that wait for that connection, to share it (7.88).
    final func connectsBy(_ limit: Duration) -> LoopInstant {
        step == .nameLookup ? dialed.advanced(by: limit).advanced(byNanoseconds: 100_000_000) : .never
    }

    /// The step, including the end of the handshake with the relay, which only OpenSSL knows.
    final var reachedStep: LoadError.Step {
        guard handshakes.first?.isDone == true else { return step }
        return switch step {
        case .relayTLS: .relayConnect
        case .proxyTLS: .proxyConnect
        default: step
        }
    }

    /// The handshake with the server, if this attempt made one.
    final var serverHandshake: HandshakeRecord? { handshakes.last.flatMap { $0.peer == .server ? $0 : nil } }

    final func willHandshake(_ configuration: PathConfiguration, _ context: OpaquePointer) {
        if let proxy = configuration.path.proxy?.proxy, proxy.kind == .https, handshakes.isEmpty {
            step = .proxyTLS
            return handshakeBegins(unsafe HandshakeSettings.with(proxy).apply(to: context))
        }
        let isRelay = configuration.path.relay != nil && handshakes.isEmpty
        step = isRelay ? .relayTLS : .serverTLS
        var settings = isRelay ? configuration.relayHandshake : configuration.serverHandshake(with: endpoint.host)
        if !isRelay { settings.applicationProtocols = applicationProtocols }
        handshakeBegins(unsafe settings.apply(to: context))
    }

    /// Replaced instead of changed in place, so that exclusive access to it costs nothing at run time.
    private final func handshakeBegins(_ record: HandshakeRecord) { handshakes = handshakes + [record] }
}

/// What libcurl has counted for the dials of one transfer. If it connects anew within the transfer, it adds the times
/// of that dial to those of the earlier ones (7.88).
private struct DialCounts {
    /// For the names of all dials, when the last socket was opened.
    var lookups = Duration.zero
    /// For the names of the dials before the last one.
    var earlierLookups = Duration.zero
    /// For the connections of the dials before the last one.
    var earlierConnects = Duration.zero
}

/// The answer of the relay or the proxy to CONNECT.
struct RelayAnswer {
    /// The longest header block of a relay, in bytes.
    static let limit = 64 << 10

    private(set) var status = 0
    private(set) var proxyStatus: String?
    /// The value of `Retry-After`, if it is a number of seconds.
    private(set) var retryAfter: Duration?
    /// The values of `Proxy-Authenticate`.
    private(set) var challenges: [String] = []
    private var bytes = 0

    /// - Returns: false if the header block is too long.
    mutating func received(_ line: UnsafeRawBufferPointer) -> Bool {
        bytes += line.count
        guard bytes <= Self.limit else { return false }
        var text = unsafe String(decoding: line, as: UTF8.self)
        while text.last?.isNewline == true { text.removeLast() }
        if text.hasPrefix("HTTP/") { status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let value = text[text.index(after: colon)...].drop { $0 == " " }
        switch text[..<colon].lowercased() {
        case "proxy-status": proxyStatus = String(value.prefix(512))
        case "retry-after": retryAfter = UInt32(value).map { .seconds($0) }
        case "proxy-authenticate": challenges.append(String(value))
        default: break
        }
        return true
    }
}
