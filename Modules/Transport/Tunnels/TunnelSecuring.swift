internal import SallyportCore
internal import SallyportEventLoop

/// How far TLS is that is begun on a tunnel that stands: what was written before is sent, then there are handshakes, or one
/// that is held while the app decides. Meanwhile nothing else is read or sent. On the loop only.
struct TunnelSecuring {
    typealias Continuation = @Sendable (Result<Void, LoadError>) -> Void

    /// What a caller asks for.
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
        /// What was written before is being sent.
        case flushing
        /// Nothing goes on until the next order.
        case held
        case handshaking
    }

    var step = Step.flushing
    /// Of the handshake that was begun; nil before.
    var record: HandshakeRecord?
    /// Who waits for the present step; nil while nobody does.
    var continuation: Continuation?
    /// By when the handshake must be over.
    var limit = LoopInstant.never

    /// The step is over. Who waited is to be told the rest.
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

/// What a handshake on a tunnel that stands is made with.
struct TunnelHandshake: Sendable {
    var path: ConnectionPath
    /// As they stand in the hello.
    var applicationProtocols: [UInt8]
    /// From now on.
    var timeout: Duration

    /// The tunnel itself leads through relay or proxy.
    func settings(with host: Host) -> HandshakeSettings {
        var path = path
        (path.relay, path.proxy) = (nil, nil)
        return PathConfiguration(path).laterHandshake(with: host, applicationProtocols)
    }
}
