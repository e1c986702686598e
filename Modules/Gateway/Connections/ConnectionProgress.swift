/// How far a connection came with its handshake and its requests, and until when it must have come further. A value.
struct ConnectionProgress: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case handshake
        /// Head or body of a request is on its way, or the first request is waited for.
        case request
        /// No request is on its way: for how long is the protocol's affair.
        case between
        /// This side was ended, and the peer is to end its own (RFC 9112 §9.6).
        case ended
    }

    enum Timer: Sendable, Hashable {
        case start(Duration)
        case stop
        case keep
    }

    private(set) var phase: Phase
    private let limits: ConnectionLimits

    /// - Parameter hasHandshake: false for a connection without TLS.
    init(_ limits: ConnectionLimits, hasHandshake: Bool) {
        self.limits = limits
        phase = hasHandshake ? .handshake : .request
    }

    /// The timer of a new connection.
    var firstTimer: Timer { .start(phase == .handshake ? limits.handshakeTime : limits.requestTime) }

    mutating func handshakeEnded() -> Timer {
        guard phase == .handshake else { return .keep }
        phase = .request
        return .start(limits.requestTime)
    }

    /// Bytes of the peer came. They move no deadline: one byte a minute must not keep a request alive.
    mutating func received() -> Timer {
        guard phase == .between else { return .keep }
        phase = .request
        return .start(limits.requestTime)
    }

    /// This side was ended, where nothing but the peer's end is to follow.
    mutating func outputEnded() -> Timer {
        phase = .ended
        return .start(min(limits.handshakeTime, limits.requestTime))
    }

    /// Head and body of a request are complete.
    mutating func requestEnded() -> Timer {
        guard phase != .ended else { return .keep }
        phase = .between
        return .stop
    }
}
