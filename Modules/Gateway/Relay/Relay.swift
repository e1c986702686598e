internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import SallyportBase
internal import SallyportLoading
internal import ServiceLifecycle

/// Carries instances' connections to the servers that the policy lets them reach: CONNECT (RFC 9110 §9.3.6) over
/// mutual TLS, TLS 1.2 or 1.3.
///
/// Both sides of a tunnel live on one event loop. What a tunnel may do is decided by a ``RelayPolicy``, at CONNECT
/// and again after each ``policyChanged()``.
package final class Relay: Sendable {
    private enum Phase {
        case idle
        case starting
        case listening(any Channel, port: UInt16)
        case ended
    }

    private let configuration: RelayConfiguration
    private let policy: any RelayPolicy
    private let resolver: any NameResolver
    private let group: any EventLoopGroup
    private let logger: Logger
    private let registry = TunnelRegistry()
    /// Shared with the gateway's other listeners.
    private let connections: Connections
    private let context: Lock<NIOSSLContext>
    private let phase = Lock(Phase.idle)

    /// Throws `.invalid` where certificate, key or authority cannot be used.
    init(
        configuration: RelayConfiguration, identity: RelayIdentity, policy: any RelayPolicy,
        resolver: any NameResolver = SystemResolver(), connections: Connections,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, logger: Logger
    ) throws(GatewayError) {
        self.configuration = configuration
        self.policy = policy
        self.resolver = resolver
        self.connections = connections
        self.group = group
        self.logger = logger
        context = Lock(try RelayTLS.context(identity: identity, trust: configuration.trust))
    }

    /// The tunnels that are open or being opened, of all instances.
    package var tunnelCount: Int { registry.tunnelCount }

    /// Uses a renewed certificate for connections from now on, and takes instances' certificates of these authorities, DER.
    /// Throws `.invalid`, and then changes nothing.
    package func use(_ identity: RelayIdentity, trust: [[UInt8]]) throws(GatewayError) {
        let renewed = try RelayTLS.context(identity: identity, trust: trust)
        context.withLock { $0 = renewed }
    }

    /// Asks the policy anew for every open tunnel, and resets those that it refuses: within a second, the time that
    /// the policy takes to answer aside. Call it when the policy already answers by the new rules.
    package func policyChanged() { registry.forEach { $0.reconsider() } }
}

extension Relay {
    /// Listens, and returns the port. Can be called once. Throws `.cannotBind`.
    @discardableResult
    package func start() async throws(GatewayError) -> UInt16 {
        let mayStart = phase.withLock { phase in
            guard case .idle = phase else { return false }
            phase = .starting
            return true
        }
        guard mayStart else { throw GatewayError(.cannotBind, "A relay is started once.") }
        let channel: any Channel
        do {
            channel = try await bootstrap().bind(to: SocketAddress(configuration.host, port: configuration.port)).get()
        } catch {
            throw GatewayError(
                .cannotBind, "The relay cannot listen on \(configuration.host) port \(configuration.port).",
                underlying: error)
        }
        let port = UInt16(channel.localAddress?.port ?? 0)
        let isListening = phase.withLock { phase in
            guard case .starting = phase else { return false }
            phase = .listening(channel, port: port)
            return true
        }
        guard isListening else {
            try? await channel.close().get()
            throw GatewayError(.cannotBind, "The relay was shut down.")
        }
        logger.debug("Relay listens", metadata: ["port": "\(port)"])
        return port
    }

    /// Runs until its task is cancelled or the service group shuts down, and shuts down then. Starts the relay if
    /// that was not done. Throws `.cannotBind`.
    package func run() async throws(GatewayError) {
        if phase.withLock({ if case .idle = $0 { true } else { false } }) { try await start() }
        try? await gracefulShutdown()
        await shutdown()
    }

    /// Stops listening, waits for open tunnels as long as the configuration says, resets the rest. Idempotent.
    package func shutdown() async {
        let listener = phase.withLock { phase -> (any Channel)? in
            defer { phase = .ended }
            if case .listening(let channel, _) = phase { return channel } else { return nil }
        }
        try? await listener?.close().get()
        let loop = group.any()
        let drained = registry.close(on: loop)
        registry.forEach { $0.dropUnlessOpen() }
        let registry = registry
        let timer = loop.scheduleTask(in: .nanoseconds(configuration.drainTime.nanoseconds)) {
            registry.forEach { $0.abort(.shutdown) }
        }
        try? await drained.get()
        timer.cancel()
    }

    private func bootstrap() -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: ListenerLimits.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A FIN is not the end of a tunnel: close_notify is, and then only of one direction.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.accept(channel) }
            }
    }

    private func accept(_ channel: any Channel) throws {
        let services = RelayServices(
            configuration: configuration, policy: policy, resolver: resolver, registry: registry, logger: logger,
            port: UInt16(channel.localAddress?.port ?? 0))
        guard let ticket = connections.admit(channel) else { throw ChannelError.ioOnClosedChannel }
        let tunnel = Tunnel(client: channel, services: services)
        guard registry.admit(tunnel) else { throw ChannelError.ioOnClosedChannel }
        let tls = NIOSSLServerHandler(context: context.withLock { $0 })
        let peer = RelayPeer(policy: policy)
        let watch = ConnectionWatch(ticket, tls: tls) { peer.identify($0) }
        do {
            try channel.pipeline.syncOperations.addHandlers([
                DrainingCloseHandler(), tls, watch,
                ConnectHandler(tunnel, peer: peer, watch: watch, services: services),
            ])
        } catch {
            tunnel.end(.clientLeft)
            throw error
        }
    }
}

/// Who is at the other end of a connection to the relay, once the handshake said so. On the connection's event loop.
final class RelayPeer {
    private let policy: any RelayPolicy
    private(set) var client: (any RelayClient)?

    init(policy: any RelayPolicy) { self.policy = policy }

    /// The instance in good standing that a certificate names.
    func identify(_ certificateDER: [UInt8]) -> String? {
        client = policy.client(presenting: certificateDER)
        return client?.instanceInGoodStanding
    }
}
