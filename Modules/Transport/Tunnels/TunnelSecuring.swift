internal import SallyportCore
internal import SallyportEventLoop

/// The progress of TLS that is begun on an open tunnel. First what was written before is sent; then come handshakes, or
/// one handshake that is held while the app decides. Meanwhile nothing else is read or sent. Used on the loop only.
struct TunnelSecuring {
    typealias Continuation = @Sendable (Result<Void, LoadError>) -> Void

    /// A caller's request.
    enum Order: Sendable {
        case prepare(Continuation)
        case handshake(TunnelHandshake, Continuation)

        var continuation: Continuation {
            switch self {
            case .prepare(let continuation), .handshake(_, let continuation): continuation
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

    var step = Step.flushing
    /// The record of the handshake; nil before it begins.
    var record: HandshakeRecord?
    /// Resumes the task that waits for the present step; nil if no task waits.
    var continuation: Continuation?
    /// The instant by which the handshake must be over.
    var limit = LoopInstant.never

    /// Ends the step.
    mutating func hold() -> Continuation? {
        step = .held
        limit = .never
        return continuation.take()
    }

    func overdue(at now: LoopInstant) -> LoadError? {
        guard now >= limit else { return nil }
        return LoadError(.idleTimeout, at: .serverTLS, "The handshake did not end in time.")
    }
}

/// The settings of a handshake on an open tunnel.
struct TunnelHandshake: Sendable {
    var path: ConnectionPath
    /// In the encoding of the ClientHello.
    var applicationProtocols: [UInt8]
    /// Counted from the start of the handshake.
    var timeout: Duration

    /// Without the proxy's settings: the tunnel itself already leads through the relay or proxy.
    func settings(with host: Host) -> HandshakeSettings {
        var path = path
        (path.relay, path.proxy) = (nil, nil)
        return PathConfiguration(path).laterHandshake(with: host, applicationProtocols)
    }
}
