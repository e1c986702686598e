/// How far a connection is with its handshake and its requests, and its deadline for the next step. A value.
struct ConnectionProgress: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case handshake
        /// The head or the body of a request is being received, or the first request is awaited.
        case request
        /// No request is being received. The protocol decides how long that may last.
        case between
        /// This side has ended the connection, and waits for the peer to end its side (RFC 9112 §9.6).
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

    /// Bytes came from the peer. They do not extend the deadline: one byte a minute must not keep a request alive.
    mutating func received() -> Timer {
        guard phase == .between else { return .keep }
        phase = .request
        return .start(limits.requestTime)
    }

    /// This side has ended the connection, and only the peer's end is to follow.
    mutating func outputEnded() -> Timer {
        phase = .ended
        return .start(min(limits.handshakeTime, limits.requestTime))
    }

    /// The head and body of a request are complete.
    mutating func requestEnded() -> Timer {
        guard phase != .ended else { return .keep }
        phase = .between
        return .stop
    }
}
