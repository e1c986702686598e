internal import Logging
internal import NIOCore
internal import NIOSSL
internal import SallyportBase
internal import SallyportLoading

/// The connections of all listeners of a gateway: executes the decisions of ``ConnectionBook``.
///
/// A lock and no actor: event loops call it at each accept and each handshake, and must not wait.
final class Connections: Sendable {
    private struct State {
        var book: ConnectionBook
        /// All that are open: those that are unauthenticated, or become it again, may be closed to make room.
        var channels: [ConnectionBook.Number: Arrival] = [:]
        var counts: [GatewayListener: Int] = [:]
    }

    private struct Arrival {
        let channel: any Channel
        let listener: GatewayListener
    }

    let limits: ConnectionLimits
    let metrics: GatewayMetrics
    private let logger: Logger
    private let state: Lock<State>

    init(_ limits: ConnectionLimits, metrics: GatewayMetrics = GatewayMetrics(), logger: Logger) {
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
        state = Lock(State(book: ConnectionBook(limits)))
    }

    var unauthenticatedCount: Int { state.withLock { $0.book.unauthenticatedCount } }
    var authenticatedCount: Int { state.withLock { $0.book.authenticatedCount } }

    func count(of listener: GatewayListener) -> Int { state.withLock { $0.counts[listener, default: 0] } }
    /// Whether there is a descriptor for another connection.
    var hasRoom: Bool { state.withLock { $0.book.open < limits.descriptors.all } }

    /// Counts a new connection until it is closed, and closes the connection that makes room for it.
    ///
    /// - Returns: nil if there is no room; then the caller closes the connection.
    func admit(_ channel: any Channel, at listener: GatewayListener) -> ConnectionTicket? {
        let source = ConnectionSource(channel.remoteAddress)
        let decision = state.withLock { state -> (ConnectionBook.Number, Arrival?)? in
            guard case .admitted(let number, let victim) = state.book.admit(source) else { return nil }
            state.channels[number] = Arrival(channel: channel, listener: listener)
            state.counts[listener, default: 0] += 1
            return (number, victim.flatMap { state.channels.removeValue(forKey: $0) })
        }
        guard let (number, victim) = decision else {
            metrics.refused.add(1, listener.rawValue, "descriptors")
            logger.debug("A connection was refused: no descriptor is left.", metadata: ["source": "\(source)"])
            return nil
        }
        metrics.accepted.add(1, listener.rawValue)
        if let victim { close(victim, "gave-way", "A connection gave way to a newer one.") }
        channel.closeFuture.whenComplete { [self] _ in left(number, listener) }
        return ConnectionTicket(number: number, listener: listener, connections: self)
    }

    /// Takes the standing of authenticated ones from connections to the control port whose peers have lost it. At the
    /// relay nothing need be taken: a tunnel ends with its instance, and a connection without one lasts for moments.
    ///
    /// - Parameter peer: the one that may have lost it; nil for all.
    func judge(_ peer: String? = nil, by isInGoodStanding: (String) -> Bool) {
        // The judgement is made outside of the lock, for which event loops wait.
        let peers = peer.map { [$0] } ?? state.withLock { $0.book.peers }
        for peer in peers where !isInGoodStanding(peer) {
            let victims = state.withLock { state in
                state.book.connections(of: peer).filter { state.channels[$0]?.listener == .control }
                    .compactMap { Self.lostStanding($0, &state) }
            }
            for victim in victims { closeFallen(victim) }
        }
    }

    /// - Returns: the connection if it has to be closed.
    private static func lostStanding(_ number: ConnectionBook.Number, _ state: inout State) -> Arrival? {
        state.book.lostStanding(number) ? nil : state.channels.removeValue(forKey: number)
    }

    fileprivate func lostStanding(_ number: ConnectionBook.Number) {
        let victim = state.withLock { Self.lostStanding(number, &$0) }
        if let victim { closeFallen(victim) }
    }

    private func closeFallen(_ victim: Arrival) {
        close(victim, "lost-standing", "A connection was closed whose client has lost its standing.")
    }

    fileprivate func authenticated(_ number: ConnectionBook.Number, as instance: String) -> Bool {
        state.withLock { $0.book.authenticated(number, as: instance) }
    }

    fileprivate func dials(_ number: ConnectionBook.Number) -> Bool {
        state.withLock { $0.book.dials(number) }
    }

    private func left(_ number: ConnectionBook.Number, _ listener: GatewayListener) {
        state.withLock { state in
            state.counts[listener, default: 1] -= 1
            state.channels[number] = nil
            state.book.left(number)
        }
    }

    private func close(_ victim: Arrival, _ reason: String, _ message: Logger.Message) {
        let channel = victim.channel
        metrics.refused.add(1, victim.listener.rawValue, reason)
        logger.debug(message, metadata: ["source": "\(ConnectionSource(channel.remoteAddress))"])
        channel.eventLoop.execute { channel.reset() }
    }
}

/// An admitted connection.
struct ConnectionTicket: Sendable {
    fileprivate let number: ConnectionBook.Number
    let listener: GatewayListener
    let connections: Connections

    /// Notes that the peer is an instance in good standing. Returns false if that instance has the greatest number of
    /// connections already.
    func authenticated(as instance: String) -> Bool {
        let hasRoom = connections.authenticated(number, as: instance)
        if !hasRoom { connections.metrics.refused.add(1, listener.rawValue, "instance-limit") }
        return hasRoom
    }

    /// Notes that the peer has lost its standing meanwhile.
    func lostStanding() { connections.lostStanding(number) }

    /// Counts a handshake that did not come to its end.
    func handshakeFailed(_ reason: HandshakeFailure) {
        connections.metrics.handshakeFailures.add(1, listener.rawValue, reason.rawValue)
    }

    /// Reserves a descriptor for a connection to a server until this connection is closed. Returns false if none is
    /// left.
    func dials() -> Bool { connections.dials(number) }
}

/// Why a TLS handshake did not come to its end, as metrics name it.
enum HandshakeFailure: String {
    /// It took too long.
    case late
    case failed
    /// The peer closed the connection.
    case left

    init(_ error: any Error) {
        if case .uncleanShutdown? = error as? NIOSSLError {
            self = .left
        } else {
            self = error is IOError ? .left : .failed
        }
    }
}
