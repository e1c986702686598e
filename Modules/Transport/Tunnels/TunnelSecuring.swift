internal import SallyportCore
internal import SallyportEventLoop

/// The progress of TLS that is begun on an open tunnel. First what was written before is sent; then come handshakes, or
/// one handshake that is held while the app decides. Meanwhile nothing else is read or sent. Used on the loop only.
struct TunnelSecuring {
    typealias Continuation = @Sendable (Result<Void, LoadError>) -> Void

    /// A caller's request.
    enum Order: Sendable {
        /// The duration is the limit for sending and all handshakes together.
        case prepare(within: Duration, Continuation)
        case handshake(TunnelHandshake, Continuation)

        var continuation: Continuation {
            switch self {
            case .prepare(_, let continuation), .handshake(_, let continuation): continuation
            }
        }
    }

    enum Step {
        /// The bytes written before are being sent.
        case flushing
        /// Nothing happens until the next order.
        case held
        case handshaking
    }

    private(set) var step = Step.flushing
    /// The record of the handshake; nil before it begins.
    var record: HandshakeRecord?
    /// Resumes the task that waits for the present step; nil if no task waits.
    var continuation: Continuation?
    /// The instant by which the present step must be over; none while nothing happens.
    private(set) var limit: LoopInstant
    /// The nanoseconds that are left for the next step while nothing happens.
    private var rest: Int64 = 0

    /// Begins with sending.
    init(within time: Duration, from now: LoopInstant, _ continuation: @escaping Continuation) {
        limit = now.advanced(by: time)
        self.continuation = continuation
    }

    /// Ends the step. No time counts until the next one begins.
    mutating func hold(at now: LoopInstant) -> Continuation? {
        step = .held
        rest = limit > now ? limit.nanoseconds - now.nanoseconds : 0
        limit = .never
        return continuation.take()
    }

    /// Begins a handshake, or continues it, in the time that the steps before have left.
    mutating func shakeHands(at now: LoopInstant, _ continuation: @escaping Continuation) {
        step = .handshaking
        limit = now.advanced(byNanoseconds: rest)
        self.continuation = continuation
    }

    func overdue(at now: LoopInstant) -> LoadError? {
        guard now >= limit else { return nil }
        let reason =
            step == .flushing
            ? "The server did not take in time what was written before the handshake."
            : "The handshake did not end in time."
        return LoadError(.idleTimeout, at: .serverTLS, reason)
    }
}

/// The settings of a handshake on an open tunnel.
struct TunnelHandshake: Sendable {
    var path: ConnectionPath
    /// In the encoding of the ClientHello.
    var applicationProtocols: [UInt8]

    /// Without the proxy's settings: the tunnel itself already leads through the relay or proxy.
    func settings(with host: Host) -> HandshakeSettings {
        var path = path
        (path.relay, path.proxy) = (nil, nil)
        return PathConfiguration(path).laterHandshake(with: host, applicationProtocols)
    }
}
