internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import SallyportCore

/// Tells the handlers behind it that head and body of a request did not come in time.
enum ConnectionEvent { case requestIsLate }

/// Holds a connection to its times and says who its peer is. Stands right behind TLS, on every listener.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let ticket: ConnectionTicket
    private let tls: NIOSSLServerHandler?
    /// The instance in good standing that a certificate (DER) names.
    private let identify: ([UInt8]) -> String?
    private let mayBeHalfClosed: Bool
    private var progress: ConnectionProgress
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - tls: nil for a listener without it; its peers are never authenticated.
    ///   - mayBeHalfClosed: whether the peer may send on for as long as it likes once this side was ended, as in a tunnel.
    ///   - identify: called once, on the event loop, behind the handshake.
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

    /// Takes a descriptor for a server that is dialled for this connection.
    func dials() -> Bool { ticket.dials() }

    /// The head of a request is complete; it may have come behind the end of the one before, in one read.
    func requestBegan() { set(progress.received()) }

    /// Head and body of the present request are complete.
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
        // An HTTP server waits for the peer's end, which may never come, and a shutdown of the gateway with it.
        if case .outputClosed? = event as? ChannelEvent, !mayBeHalfClosed { set(progress.outputEnded()) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        set(progress.received())
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        set(.stop)
        context.fireChannelInactive()
    }

    /// Whether the peer may have one connection more. Without a certificate that holds it stays unauthenticated.
    private func isWithinLimits() -> Bool {
        guard let certificate = try? tls?.peerCertificate?.toDERBytes(), let instance = identify(certificate) else {
            return true
        }
        return ticket.authenticated(as: instance)
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
        // There is no TLS yet to say anything by.
        case .handshake, .ended: context.channel.reset()
        case .request: context.fireUserInboundEventTriggered(ConnectionEvent.requestIsLate)
        case .between: break
        }
    }
}
