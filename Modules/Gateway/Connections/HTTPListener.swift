internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// An HTTP/1.1 listener, with TLS or without, which applies the gateway's limits of connections.
struct HTTPListener: ServerChildChannel {
    typealias Value = AcceptedConnection<HTTP1Channel.Value>

    /// A listener's TLS configuration, and the function that authenticates its peers.
    struct Security: Sendable {
        let context: NIOSSLContext
        let verification: TLSChannelConfiguration.CustomVerificationCallback?
        /// Returns the instance in good standing that a certificate (DER) names.
        let identify: @Sendable ([UInt8]) -> String?

        init(_ configuration: TLSChannelConfiguration, identify: @escaping @Sendable ([UInt8]) -> String?) throws {
            context = try NIOSSLContext(configuration: configuration.tlsConfiguration)
            verification = configuration.customVerificationCallback
            self.identify = identify
        }
    }

    private let http: HTTP1Channel
    private let security: Security?
    private let connections: Connections
    private let listener: GatewayListener

    /// The server of an ``Application``.
    static func builder(
        _ security: Security?, _ connections: Connections, as listener: GatewayListener
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { HTTPListener(responder: $0, security, connections, as: listener) }
    }

    init(
        responder: @escaping HTTPChannelHandler.Responder, _ security: Security?, _ connections: Connections,
        as listener: GatewayListener
    ) {
        self.listener = listener
        http = HTTP1Channel(responder: responder, configuration: Self.configuration)
        self.security = security
        self.connections = connections
    }

    private static var configuration: HTTP1Channel.Configuration {
        .init(
            idleTimeout: .seconds(60),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let watch: NIOLoopBound<ConnectionWatch>
        do { watch = NIOLoopBound(try add(to: channel), eventLoop: channel.eventLoop) } catch {
            // If the set-up fails, the server forgets the connection without closing it.
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
        let value = http.setup(channel: channel, logger: logger).map { AcceptedConnection($0) }
            .flatMapThrowing { accepted in
                let decoder = try channel.pipeline.syncOperations.handler(
                    type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try channel.pipeline.syncOperations.addHandler(
                    RequestHandler(watch.value, closesAfterAnswer: listener.hasOneRequest, logger: logger),
                    position: .after(decoder))
                return accepted
            }
        value.whenFailure { _ in channel.close(promise: nil) }
        return value
    }

    func handle(value: Value, logger: Logger) async {
        await http.handle(value: value.take(), logger: logger)
    }

    private func add(to channel: any Channel) throws -> ConnectionWatch {
        guard let ticket = connections.admit(channel, at: listener) else { throw ChannelError.ioOnClosedChannel }
        if let lifetime = listener.lifetime { Self.end(channel, after: lifetime) }
        guard let security else {
            let watch = ConnectionWatch(ticket, tls: nil, mayBeHalfClosed: false)
            try channel.pipeline.syncOperations.addHandler(watch)
            return watch
        }
        let tls = NIOSSLServerHandler(
            context: security.context, customVerificationCallback: security.verification, configuration: .init())
        let watch = ConnectionWatch(ticket, tls: tls, mayBeHalfClosed: false, identify: security.identify)
        try channel.pipeline.syncOperations.addHandlers([tls, watch])
        return watch
    }
}

extension HTTPListener {
    /// Resets a connection that is still open after some time.
    private static func end(_ channel: any Channel, after lifetime: Duration) {
        let timer = channel.eventLoop.scheduleTask(in: .nanoseconds(lifetime.nanoseconds)) { channel.reset() }
        channel.closeFuture.whenComplete { _ in timer.cancel() }
    }
}

/// Follows the decoder: sees where requests end, and how many `Host` fields each one has.
private final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let watch: ConnectionWatch
    private let closesAfterAnswer: Bool
    private let logger: Logger

    /// - Parameter closesAfterAnswer: whether each request is taken for the last one of its connection.
    init(_ watch: ConnectionWatch, closesAfterAnswer: Bool, logger: Logger) {
        (self.watch, self.closesAfterAnswer, self.logger) = (watch, closesAfterAnswer, logger)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            watch.requestBegan()
            var checked = Self.checked(head)
            if closesAfterAnswer { checked.headers.replaceOrAdd(name: "connection", value: "close") }
            context.fireChannelRead(wrapInboundOut(.head(checked)))
        case .body: context.fireChannelRead(data)
        case .end:
            watch.requestEnded()
            context.fireChannelRead(data)
        }
    }

    /// Removes `Host` unless there is exactly one (RFC 9112 §3.2). The router refuses a request without an authority
    /// when its turn comes, and the connection ends with it.
    private static func checked(_ head: HTTPRequestHead) -> HTTPRequestHead {
        guard head.headers[canonicalForm: "host"].count != 1 else { return head }
        var head = head
        head.headers.remove(name: "host")
        head.headers.replaceOrAdd(name: "connection", value: "close")
        return head
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .requestIsLate? = event as? ConnectionEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        logger.debug(
            "A request did not come in time.",
            metadata: ["source": "\(ConnectionSource(context.channel.remoteAddress))"])
        context.channel.reset()
    }
}
