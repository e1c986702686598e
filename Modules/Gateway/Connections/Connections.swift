internal import Logging
internal import NIOCore
internal import SallyportBase
internal import SallyportLoading

/// The connections of all listeners of a gateway: executes the decisions of ``ConnectionBook``.
///
/// A lock and no actor: event loops call it at each accept and each handshake, and must not wait.
final class Connections: Sendable {
    private struct State {
        var book: ConnectionBook
        /// The unauthenticated connections, which may be closed to make room.
        var channels: [ConnectionBook.Number: any Channel] = [:]
    }

    let limits: ConnectionLimits
    private let logger: Logger
    private let state: Lock<State>

    init(_ limits: ConnectionLimits, logger: Logger) {
        self.limits = limits
        self.logger = logger
        state = Lock(State(book: ConnectionBook(limits)))
    }

    var unauthenticatedCount: Int { state.withLock { $0.book.unauthenticatedCount } }
    var authenticatedCount: Int { state.withLock { $0.book.authenticatedCount } }

    /// Counts a new connection until it is closed, and closes the connection that makes room for it.
    ///
    /// - Returns: nil if there is no room; then the caller closes the connection.
    func admit(_ channel: any Channel) -> ConnectionTicket? {
        let source = ConnectionSource(channel.remoteAddress)
        let decision = state.withLock { state -> (ConnectionBook.Number, (any Channel)?)? in
            guard case .admitted(let number, let victim) = state.book.admit(source) else { return nil }
            state.channels[number] = channel
            return (number, victim.flatMap { state.channels.removeValue(forKey: $0) })
        }
        guard let (number, victim) = decision else {
            logger.debug("A connection was refused: no descriptor is left.", metadata: ["source": "\(source)"])
            return nil
        }
        if let victim { close(victim, "A connection gave way to a newer one.") }
        channel.closeFuture.whenComplete { [self] _ in left(number) }
        return ConnectionTicket(number: number, connections: self)
    }

    fileprivate func authenticated(_ number: ConnectionBook.Number, as instance: String) -> Bool {
        state.withLock { state in
            guard state.book.authenticated(number, as: instance) else { return false }
            state.channels[number] = nil
            return true
        }
    }

    fileprivate func dials(_ number: ConnectionBook.Number) -> Bool {
        state.withLock { $0.book.dials(number) }
    }

    private func left(_ number: ConnectionBook.Number) {
        state.withLock { state in
            state.channels[number] = nil
            state.book.left(number)
        }
    }

    private func close(_ channel: any Channel, _ reason: Logger.Message) {
        logger.debug(reason, metadata: ["source": "\(ConnectionSource(channel.remoteAddress))"])
        channel.eventLoop.execute { channel.reset() }
    }
}

/// An admitted connection.
struct ConnectionTicket: Sendable {
    fileprivate let number: ConnectionBook.Number
    let connections: Connections

    /// Notes that the peer is an instance in good standing. Returns false if that instance has the greatest number of
    /// connections already.
    func authenticated(as instance: String) -> Bool { connections.authenticated(number, as: instance) }

    /// Reserves a descriptor for a connection to a server until this connection is closed. Returns false if none is
    /// left.
    func dials() -> Bool { connections.dials(number) }
}
