internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import SallyportCore

/// Tells the following handlers that the head and body of a request did not arrive in time.
enum ConnectionEvent { case requestIsLate }

/// Applies the time limits to a connection, and authenticates its peer. Follows the TLS handler on every listener.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let ticket: ConnectionTicket
    private let tls: NIOSSLServerHandler?
    /// Returns the instance in good standing that a certificate (DER) names.
    private let identify: ([UInt8]) -> String?
    private let mayBeHalfClosed: Bool
    private var progress: ConnectionProgress
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var hasFailed = false
    private var isAuthenticated = false

    /// - Parameters:
    ///   - tls: nil for a listener without TLS; its peers are never authenticated.
    ///   - mayBeHalfClosed: whether the peer may go on sending for any time after this side was ended, as in a tunnel.
    ///   - identify: called on the event loop, after the handshake; and again before a connection to a server is opened,
    ///     if the peer was not known then.
    init(
        _ ticket: ConnectionTicket, tls: NIOSSLServerHandler?, mayBeHalfClosed: Bool = true,
        identify: @escaping ([UInt8]) -> String? = { _ in nil }
    ) {
        self.ticket = ticket
        self.mayBeHalfClosed = mayBeHalfClosed
        self.tls = tls
        self.identify = identify
        progress = ConnectionProgress(ticket.connections.limits, hasHandshake: tls != nil)
    }

    /// Reserves a descriptor for a connection to a server. Returns false if none is left.
    ///
    /// The peer is authenticated now if its certificate, issued a moment ago by another gateway, became known after the
    /// handshake.
    func dials() -> Bool { isWithinLimits() && ticket.dials() }

    /// The head of a request is complete. One read may contain it together with the end of the request before.
    func requestBegan() { set(progress.received()) }

    /// The head and body of the present request are complete.
    func requestEnded() { set(progress.requestEnded()) }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        set(progress.firstTimer)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        set(.stop)
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            set(progress.handshakeEnded())
            guard isWithinLimits() else { return context.channel.reset() }
        }
        // An HTTP server waits for the peer to end its side. If the peer never does, that would hold up the gateway's
        // shutdown.
        if case .outputClosed? = event as? ChannelEvent, !mayBeHalfClosed { set(progress.outputEnded()) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        set(progress.received())
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        handshakeFailed(.left)
        set(.stop)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        handshakeFailed(HandshakeFailure(error))
        context.fireErrorCaught(error)
    }

    /// Counts the first thing that went wrong before the handshake was over.
    private func handshakeFailed(_ reason: HandshakeFailure) {
        guard progress.phase == .handshake, !hasFailed else { return }
        hasFailed = true
        ticket.handshakeFailed(reason)
    }

    /// Whether the peer may have another connection. Without a valid certificate it stays unauthenticated.
    private func isWithinLimits() -> Bool {
        guard !isAuthenticated, let certificate = try? tls?.peerCertificate?.toDERBytes(),
            let instance = identify(certificate)
        else { return true }
        isAuthenticated = ticket.authenticated(as: instance)
        // A withdrawal in between has judged without this connection.
        if isAuthenticated, ticket.listener == .control, identify(certificate) == nil { ticket.lostStanding() }
        return isAuthenticated
    }

    private func set(_ change: ConnectionProgress.Timer) {
        if change == .keep { return }
        timer?.cancel()
        timer = nil
        guard case .start(let time) = change, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(time.nanoseconds)) { self.isLate() }
    }

    private func isLate() {
        guard let context else { return }
        switch progress.phase {
        // There is no TLS yet through which an error could be sent.
        case .handshake, .ended:
            handshakeFailed(.late)
            context.channel.reset()
        case .request: context.fireUserInboundEventTriggered(ConnectionEvent.requestIsLate)
        case .between: break
        }
    }
}
