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
/// Both sides of a tunnel live on one event loop. A ``RelayPolicy`` decides what a tunnel may do, at CONNECT and again
/// after each ``policyChanged()``. The actor's state is that of starting and ending the relay; connections and tunnels
/// call only what is nonisolated.
package actor Relay {
    private enum Phase {
        case idle
        case starting
        case listening(any Channel)
        case ended
    }

    private let configuration: RelayConfiguration
    private let policy: any RelayPolicy
    private let resolver: any NameResolver
    private let group: any EventLoopGroup
    private let logger: Logger
    private let registry: TunnelRegistry
    /// Shared with the gateway's other listeners, like what they count.
    private let connections: Connections
    private let audit: AuditRecorder
    private var phase = Phase.idle

    /// Throws `.invalid` where certificate, key or authority cannot be used.
    init(
        configuration: RelayConfiguration, identity: RelayIdentity, policy: any RelayPolicy,
        resolver: any NameResolver = SystemResolver(), connections: Connections,
        audit: AuditRecorder = .keepsNothing,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, logger: Logger
    ) throws(GatewayError) {
        self.configuration = configuration
        self.policy = policy
        self.resolver = resolver
        self.connections = connections
        self.audit = audit
        self.group = group
        self.logger = logger
        registry = TunnelRegistry(tls: try RelayTLS.context(identity: identity, trust: configuration.trust))
    }

    /// The tunnels that are open or being opened, of all instances.
    package nonisolated var tunnelCount: Int { registry.tunnelCount }

    /// Uses a renewed certificate for new connections, and accepts instances' certificates of these authorities, DER.
    /// Throws `.invalid`, and then changes nothing.
    package nonisolated func use(_ identity: RelayIdentity, trust: [[UInt8]]) throws(GatewayError) {
        registry.use(try RelayTLS.context(identity: identity, trust: trust))
    }

    /// Asks the policy again for every open tunnel, and resets those that it refuses: within a second, not counting the
    /// time that the policy takes. Call it when the policy already uses the new rules.
    package nonisolated func policyChanged() { registry.forEach { $0.reconsider() } }
}

// MARK: Observation

extension Relay {
    /// Returns once every tunnel has reported the bytes that it carried so far.
    nonisolated func reportBytes() async {
        registry.forEach { $0.reportBytes() }
        await loopsAnswer()
    }

    /// Calls back once all loops have done what they were asked for before, such as ``policyChanged()``.
    nonisolated func whenLoopsAnswer(_ body: @escaping @Sendable () -> Void) {
        let answers = group.makeIterator().map { $0.submit {} }
        EventLoopFuture.andAllComplete(answers, on: group.any()).whenComplete { _ in body() }
    }

    /// Returns once all loops have done what ``policyChanged()`` asked them for.
    nonisolated func settled() async { await loopsAnswer() }

    private nonisolated func loopsAnswer() async {
        await withCheckedContinuation { continuation in whenLoopsAnswer { continuation.resume() } }
    }

    /// Whether the relay takes connections; nil before it was started. Returns only if its loops answer.
    func isListening() async -> Bool? {
        switch phase {
        case .idle, .starting: return nil
        case .ended: return false
        case .listening(let channel):
            guard channel.isActive else { return false }
            await loopsAnswer()
            return true
        }
    }
}

extension Relay {
    /// Listens, and returns the port. Can be called once. Throws `.cannotBind`, `.ended` after ``shutdown()``.
    ///
    /// - Parameter ports: the gateway's further ports. Tunnels to these ports and to the relay's own, at any of the
    ///   host's addresses, are refused.
    @discardableResult
    package func start(besides ports: Set<UInt16> = []) async throws(GatewayError) -> UInt16 {
        switch phase {
        case .idle: break
        case .starting, .listening: throw GatewayError(.cannotBind, "A relay is started once.")
        case .ended: throw Self.wasShutDown
        }
        phase = .starting
        let channel: any Channel
        do {
            let address = SocketAddress(configuration.host, port: configuration.port)
            channel = try await bootstrap(besides: ports).bind(to: address).get()
        } catch {
            let address = "\(configuration.host) port \(configuration.port)"
            throw GatewayError(
                .cannotBind, "The relay cannot listen on \(address): \(BindFailure.reason(error)).", underlying: error)
        }
        let port = UInt16(channel.localAddress?.port ?? 0)
        // The relay may have been shut down meanwhile.
        guard case .starting = phase else {
            try? await channel.close().get()
            throw Self.wasShutDown
        }
        phase = .listening(channel)
        logger.debug("Relay listens", metadata: ["port": "\(port)"])
        return port
    }

    private static var wasShutDown: GatewayError { GatewayError(.ended, "The relay was shut down.") }

    /// Runs until its task is cancelled or the service group shuts down, and then shuts down. Starts the relay if it
    /// was not started. Throws as ``start(besides:)`` does.
    package func run() async throws(GatewayError) {
        if case .idle = phase { try await start() }
        try? await gracefulShutdown()
        await shutdown()
    }

    /// Stops listening, waits for open tunnels as long as the configuration says, resets the rest. Idempotent.
    package func shutdown() async {
        let before = phase
        phase = .ended
        if case .listening(let channel) = before { try? await channel.close().get() }
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

    private nonisolated func bootstrap(besides ports: Set<UInt16>) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: ListenerLimits.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A FIN does not end a tunnel: close_notify does, and only in one direction.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.accept(channel, besides: ports) }
            }
    }

    private nonisolated func accept(_ channel: any Channel, besides ports: Set<UInt16>) throws {
        let services = RelayServices(
            configuration: configuration, policy: policy, resolver: resolver, registry: registry, logger: logger,
            ownPorts: ports.union([UInt16(channel.localAddress?.port ?? 0)]), metrics: connections.metrics,
            audit: audit)
        guard let ticket = connections.admit(channel, at: .relay) else { throw ChannelError.ioOnClosedChannel }
        let tunnel = Tunnel(client: channel, services: services)
        guard let context = registry.admit(tunnel) else { throw ChannelError.ioOnClosedChannel }
        let tls = NIOSSLServerHandler(context: context)
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

/// The peer of a connection to the relay, known after the handshake. On the connection's event loop.
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
