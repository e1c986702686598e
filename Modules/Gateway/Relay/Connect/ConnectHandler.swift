internal import Logging
internal import NIOCore
internal import SallyportCore
internal import SallyportWire

/// A client's connection until the tunnel is open: reads CONNECT, asks the policy, connects to the server, answers, and
/// is replaced by a ``SpliceHandler``.
final class ConnectHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case reading(ConnectHead)
        /// Bytes after the head wait here; at most one round of reads.
        case deciding(ByteBuffer)
        case answered
    }

    /// The most bytes of a client that are kept before the answer.
    private static let earlyLimit = 512 * 1024
    private static let established = "HTTP/1.1 200 Connection established\r\nProxy-Status: sallyport\r\n\r\n"

    private let tunnel: Tunnel
    private let peer: RelayPeer
    private let watch: ConnectionWatch
    private let services: RelayServices
    private var phase: Phase
    private var target: Endpoint?
    private var hasReceived = false
    private var holdsRead = false
    private var inputEnded = false
    private var waitsForNews = false
    /// How long a CONNECT with a certificate that is not known waits for news of it.
    private static let newsLimit: TimeAmount = .seconds(1)

    init(_ tunnel: Tunnel, peer: RelayPeer, watch: ConnectionWatch, services: RelayServices) {
        self.tunnel = tunnel
        self.peer = peer
        self.watch = watch
        self.services = services
        phase = .reading(ConnectHead(limit: services.configuration.headerLimit))
    }
}

// MARK: The channel's events

extension ConnectHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var data = unwrapInboundIn(data)
        hasReceived = true
        switch phase {
        case .reading(var head):
            let progress = head.append(data.readableBytesView)
            phase = .reading(head)
            switch progress {
            case .incomplete: break
            case .refused(let refusal): refuse(refusal, context: context)
            case .complete(let consumed):
                data.moveReaderIndex(forwardBy: consumed)
                // A connection carries one request; afterwards it is a tunnel, which has time limits of its own.
                context.pipeline.syncOperations.removeHandler(watch, promise: nil)
                phase = .deciding(data)
                decide(head.bytes, context: context)
            }
        case .deciding(var early):
            early.writeBuffer(&data)
            phase = .deciding(early)
            if early.readableBytes > Self.earlyLimit { tunnel.abort(.clientFailed) }
        case .answered: break
        }
    }

    func read(context: ChannelHandlerContext) {
        if case .deciding = phase { holdsRead = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .requestIsLate? = event as? ConnectionEvent { return headIsLate(context) }
        guard event as? ChannelEvent == .inputClosed else { return }
        inputEnded = true
        if case .reading = phase {
            phase = .answered
            close(.clientLeft, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { tunnel.abort(.clientFailed) }

    func channelInactive(context: ChannelHandlerContext) { tunnel.end(.clientLeft) }

    private func headIsLate(_ context: ChannelHandlerContext) {
        guard case .reading = phase else { return }
        // No byte of a request came, so there is nothing to answer.
        guard hasReceived else { return tunnel.abort(.idle) }
        refuse(.malformed("The request's head did not come in time.", status: 408), context: context)
    }
}

// MARK: The decision

extension ConnectHandler {
    private func decide(_ head: [UInt8], context: ChannelHandlerContext) {
        do {
            let target = try ConnectRequest(head: head).target
            self.target = target
            let client = try client()
            let verdict = client.decide(target)
            if verdict == .unknown { return waitForNews(of: client, target, context: context) }
            try dial(target, for: client, verdict, context: context)
        } catch {
            refuse(error, context: context)
        }
    }

    /// The certificate may have been issued a moment ago, by another gateway: decides again once that would be known.
    private func waitForNews(of client: any RelayClient, _ target: Endpoint, context: ChannelHandlerContext) {
        waitsForNews = true
        let loop = context.eventLoop
        let handler = NIOLoopBound((self, context), eventLoop: loop)
        let isLate = loop.scheduleTask(in: Self.newsLimit) {
            handler.value.0.decideAgain(for: client, target, isCaughtUp: false, handler.value.1)
        }
        loop.makeFutureWithTask { await client.catchUp() }.whenComplete { result in
            isLate.cancel()
            let isCaughtUp = (try? result.get()) ?? false
            handler.value.0.decideAgain(for: client, target, isCaughtUp: isCaughtUp, handler.value.1)
        }
    }

    /// - Parameter isCaughtUp: whether everything is known that was in the store when the client asked.
    private func decideAgain(
        for client: any RelayClient, _ target: Endpoint, isCaughtUp: Bool, _ context: ChannelHandlerContext
    ) {
        guard waitsForNews else { return }
        waitsForNews = false
        guard !tunnel.isOver else { return }
        do throws(RelayRefusal) {
            let second = client.decide(target)
            if second == .unknown, !isCaughtUp { throw Self.notTold }
            try dial(target, for: client, second, context: context)
        } catch {
            refuse(error, context: context)
        }
    }

    private func client() throws(RelayRefusal) -> any RelayClient {
        guard let client = peer.client else {
            throw Self.notAccepted
        }
        return client
    }

    private func dial(
        _ target: Endpoint, for client: any RelayClient, _ verdict: RelayVerdict, context: ChannelHandlerContext
    ) throws(RelayRefusal) {
        let (instance, address, mayBeLocal, rules) = try Self.allowed(verdict)
        guard tunnel.reserve(instance: instance) else {
            throw RelayRefusal(
                503, ProxyStatus.ErrorType.connectionLimitReached, "The instance has as many tunnels as it may.")
        }
        guard watch.dials() else {
            throw RelayRefusal(503, ProxyStatus.ErrorType.connectionLimitReached, "The relay has no room for a server.")
        }
        let dialer = dialer(for: client, target, instance, on: context.eventLoop)
        let start = ContinuousClock.now
        let dialled = dialer.dial(target, at: address, mayBeLocal: mayBeLocal, by: rules)
        dialled.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let connection):
                self.services.metrics.dial.record(since: start, "connected")
                let grant = TunnelGrant(
                    client: client, target: target, instance: instance, address: connection.address)
                self.dialled(connection.channel, grant, context: context)
            case .failure(let error):
                self.services.metrics.dial.record(since: start, "failed")
                let refusal = self.tunnel.isDialRefused ? RelayRefusal.policyChanged : error as? RelayRefusal
                self.refuse(refusal ?? Self.internalFailure, context: context)
            }
        }
    }

    /// What it opens ends with the tunnel, and with the permission for it.
    private func dialer(
        for client: any RelayClient, _ target: Endpoint, _ instance: String, on loop: any EventLoop
    ) -> Dialer {
        let tunnel = NIOLoopBound(tunnel, eventLoop: loop)
        let grant = { @Sendable (address: IPAddress) in
            TunnelGrant(client: client, target: target, instance: instance, address: address)
        }
        return Dialer(
            resolver: services.resolver, check: services.addressCheck, egress: services.configuration.egress,
            timeout: services.configuration.dialTimeout, eventLoop: loop, left: self.tunnel.client.closeFuture,
            permit: { (address: IPAddress) throws(RelayRefusal) in try tunnel.value.permit(grant(address)) },
            begins: { tunnel.value.dials($0, by: grant($1)) })
    }

    private static func allowed(
        _ verdict: RelayVerdict
    ) throws(RelayRefusal) -> (instance: String, address: IPAddress?, mayBeLocal: Bool, rules: AddressRules) {
        switch verdict {
        case .allowed(let instance, let address, let mayBeLocal, let rules):
            return (instance, address, mayBeLocal, rules)
        case .refused(let error, let details, let status): throw RelayRefusal(status, error, details)
        case .unknown: throw notAccepted
        }
    }

    private func dialled(_ origin: any Channel, _ grant: TunnelGrant, context: ChannelHandlerContext) {
        guard !tunnel.isOver else { return origin.reset() }
        // The policy may have changed while the server was being connected to, before there was a tunnel to end.
        guard grant.holds(check: services.addressCheck) else {
            origin.reset()
            return refuse(.policyChanged, context: context)
        }
        open(origin, grant, context: context)
    }

    private static let notAccepted = RelayRefusal(
        403, ProxyStatus.ErrorType.requestDenied, "The certificate is not accepted.")
    /// 503, since another relay may know the certificate.
    private static let notTold = RelayRefusal(
        503, ProxyStatus.ErrorType.proxyInternalError, "The relay cannot look the certificate up now.")
    private static let internalFailure = RelayRefusal(
        502, ProxyStatus.ErrorType.proxyInternalError, "The server cannot be reached.")
}

// MARK: The answer

extension ConnectHandler {
    private func open(_ origin: any Channel, _ grant: TunnelGrant, context: ChannelHandlerContext) {
        guard case .deciding(let early) = phase else { return origin.reset() }
        phase = .answered
        let splices = TunnelSplices(of: tunnel)
        do {
            try context.pipeline.syncOperations.addHandler(splices.client, position: .after(self))
            try origin.pipeline.syncOperations.addHandler(splices.origin)
            splices.client.join(splices.origin)
            try origin.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            splices.client.part()
            origin.reset()
            return tunnel.abort(.serverFailed)
        }
        tunnel.open(to: origin, grant: grant, splices: splices)
        services.metrics.connects.add(1, "opened")
        services.audit.connect(grant.instance, grant.target, address: grant.address, error: nil)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: Self.established)), promise: nil)
        if early.readableBytes > 0 {
            splices.client.carry(early)
            splices.client.send()
        }
        if inputEnded { tunnel.inputEnded(at: .client) }
        if holdsRead { context.channel.read() }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func refuse(_ refusal: RelayRefusal, context: ChannelHandlerContext) {
        guard !tunnel.isOver else { return }
        if case .answered = phase { return }
        phase = .answered
        services.metrics.connects.add(1, refusal.error)
        services.audit.connect(
            tunnel.instance ?? peer.client?.instance, target, address: nil, error: refusal.error)
        services.logger.info(
            "CONNECT refused",
            metadata: [
                "instance": "\(tunnel.instance ?? "-")", "target": "\(target.map(\.description) ?? "-")",
                "status": "\(refusal.status)", "error": "\(refusal.error)", "details": "\(refusal.details)",
            ])
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: refusal.response)), promise: nil)
        close(.refused, context: context)
    }

    /// Closes with close_notify. The slot is free at once; TLS waits a few seconds for the client's close_notify.
    private func close(_ result: Tunnel.Result, context: ChannelHandlerContext) {
        tunnel.end(result)
        context.close(promise: nil)
        if holdsRead { context.read() }
    }
}
