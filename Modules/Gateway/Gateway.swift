internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
package import Logging
internal import NIOCore
internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
internal import SallyportWire
internal import ServiceLifecycle

/// A running gateway: control plane, relay and administration over one data directory.
///
/// ``run()`` serves until it is cancelled or the service group shuts down gracefully: then it takes no more
/// connections, ends event streams, gives open tunnels ten seconds, and returns.
package final class Gateway: Service {
    /// Where a gateway listens.
    package struct Configuration: Sendable {
        /// HOST and port; port 0 takes a free one.
        package var controlHost = "0.0.0.0"
        package var controlPort = Int(ControlAPI.defaultPort)
        package var relayHost = "0.0.0.0"
        package var relayPort = Int(ControlAPI.defaultRelayPort)
        /// The address that tunnels are dialled from.
        package var egress: IPAddress?
        /// The resolver for names inside; the system's where nil.
        package var resolver: Endpoint?
        /// For each instance.
        package var maximumTunnels = 1024
        /// Of all listeners together. ``ConnectionLimits/perInstance`` and ``ConnectionLimits/descriptors`` follow from
        /// ``maximumTunnels`` and the process's own limit when the gateway starts.
        package var connections = ConnectionLimits()
        /// Where tokens are verified without TLS, for development; nowhere where nil.
        package var plainVerification: PlainVerification?

        package init() {}
    }

    /// A listener for the documented verification of tokens, without TLS.
    package struct PlainVerification: Sendable {
        package var host: String
        package var port: Int
        /// Whether it may listen where others than this machine reach it.
        package var isInsecureAllowed: Bool

        package init(host: String, port: Int, isInsecureAllowed: Bool = false) {
            (self.host, self.port, self.isInsecureAllowed) = (host, port, isInsecureAllowed)
        }
    }

    /// What a gateway listens on.
    package struct Listeners: Sendable {
        package let controlPort: Int
        package let relayPort: Int
        package let verificationPort: Int?
    }

    private let data: GatewayData
    private let path: String
    private let configuration: Configuration
    private let logger: Logger
    private let onReady: @Sendable (Listeners) -> Void

    /// - Parameters:
    ///   - path: the data directory, in which the administration socket is made.
    ///   - onReady: called once, when all listen.
    package init(
        data: GatewayData, at path: String, configuration: Configuration, logger: Logger,
        onReady: @escaping @Sendable (Listeners) -> Void = { _ in }
    ) {
        self.data = data
        self.path = path
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
    }

    package func run() async throws {
        let plain = try plainAddress()
        // Before anybody sees them.
        try await data.renewOwnCertificates()
        try await data.renewTokenKeys()
        let authority = await data.authorityDER
        let certificate = ServerCertificate(await data.serverIdentity)
        let authorities = await data.authorityDERs
        let policy = await data.relayPolicy()
        let keys = CurrentTokenKeys(await data.tokenKeys)
        let events = EventHub(start: await data.settings.starts + 1)
        let ports = ListenerPorts()
        let connections = Connections(connectionLimits(), logger: logger)
        let relay = try makeRelay(certificate, policy, authorities, connections, ports: ports)
        let relayPort = try await relay.start()
        do {
            try await observe(events, policy, relay, certificate, keys)
            let administration = try await AdministrationServer.bind(data: data, path: path, logger: logger)
            let tokens = TokenEndpoints(
                data: data, service: TokenService(keys: keys, policy: policy, clock: data.clock), logger: logger)
            let ready = ReadyBoard(relayPort: Int(relayPort), waitsForVerification: plain != nil, onReady)
            let control = try makeControl(
                certificate, events, policy, tokens, authority, connections, relayPort: relayPort, ports: ports,
                ready: ready)
            let verification = plain.map { makeVerification($0, tokens, connections, ports: ports, ready: ready) }
            try await serve(control, verification, administration, policy, events, relay)
        } catch {
            await relay.shutdown()
            await data.close()
            throw error
        }
        await relay.shutdown()
        await data.close()
    }

    private func serve(
        _ control: some ApplicationProtocol, _ verification: (some ApplicationProtocol)?,
        _ administration: AdministrationServer, _ policy: CurrentRelayPolicy, _ events: EventHub, _ relay: Relay
    ) async throws {
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await control.run() }
                if let verification { group.addTask { try await verification.run() } }
                group.addTask { try await Self.untilShutdown { try await administration.run() } }
                group.addTask { try await Self.untilShutdown { try await self.tick(events, relay) } }
                group.addTask { [data] in
                    for await renewed in policy.renewals.cancelOnGracefulShutdown() { await data.sawAtRelay(renewed) }
                }
                try await group.waitForAll()
            }
        } onGracefulShutdown: {
            events.finish()
        }
    }

    private static func untilShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown(body) } catch is CancellationError {}
    }

    /// Every two seconds a heartbeat; once a minute a look at the tunnels of instances that did not renew, and once an
    /// hour at the gateway's own certificates and keys.
    private func tick(_ events: EventHub, _ relay: Relay) async throws {
        var beats = 0
        var lastLook = data.clock()
        while !Task.isCancelled {
            try await Task.sleep(for: .seconds(ControlEvent.heartbeatSeconds))
            events.beat()
            beats += 1
            // By the clock that certificates end by.
            if abs(data.clock().timeIntervalSince(lastLook)) >= 60 {
                lastLook = data.clock()
                relay.policyChanged()
            }
            guard beats % 1800 == 0 else { continue }
            try await data.renewOwnCertificates()
            try await data.renewTokenKeys()
            try await data.forgetOldKeys()
        }
    }

    private func observe(
        _ events: EventHub, _ policy: CurrentRelayPolicy, _ relay: Relay, _ certificate: ServerCertificate,
        _ keys: CurrentTokenKeys
    ) async throws {
        await data.onChange { data, change in
            switch change {
            case .identities: certificate.update(data.serverIdentity)
            case .tokenKeys: keys.update(data.tokenKeys)
            case .directory, .instance: break
            }
            policy.update(data.relaySnapshot(), data.authorities)
            relay.policyChanged()
            switch change {
            case .directory: events.notify()
            case .instance(let instance): events.notify(instance)
            case .identities: try? relay.use(certificate.relayIdentity, trust: data.authorityDERs)
            case .tokenKeys: break
            }
        }
    }
}

// MARK: Parts

extension Gateway {
    private func makeControl(
        _ certificate: ServerCertificate, _ events: EventHub, _ policy: CurrentRelayPolicy, _ tokens: TokenEndpoints,
        _ authority: [UInt8], _ connections: Connections, relayPort: UInt16, ports: ListenerPorts, ready: ReadyBoard
    ) throws -> some ApplicationProtocol {
        let plane = ControlPlane(
            data: data, events: events, names: NameService(queries: try queries()), policy: policy, tokens: tokens,
            logger: logger)
        let security = try HTTPListener.Security(.control(certificate, data: data, authority: authority)) {
            policy.client(presenting: $0)?.instanceInGoodStanding
        }
        return Application(
            router: plane.router(), server: HTTPListener.builder(security, connections),
            configuration: Self.application(configuration.controlHost, configuration.controlPort),
            onServerRunning: { [data, logger] channel in
                let port = channel.localAddress?.port ?? 0
                do {
                    ports.add(UInt16(port))
                    try await data.listens(controlPort: UInt16(port), relayPort: relayPort)
                    ready.listens(control: port)
                } catch {
                    logger.error("The ports could not be kept.", metadata: ["error": "\(error)"])
                }
            },
            logger: logger)
    }

    private static func application(_ host: String, _ port: Int) -> ApplicationConfiguration {
        ApplicationConfiguration(
            address: .hostname(host, port: port), serverName: nil, backlog: Int(ListenerLimits.backlog))
    }

    /// The configured limits, and what follows from the process's limit of descriptors, which is raised as far as it
    /// may be: a tunnel takes two.
    private func connectionLimits() -> ConnectionLimits {
        let limit = DescriptorLimit.raise() ?? 1024
        // Files, sockets and loops that are opened from now on; administration has its share of what is kept back.
        let ownUse = DescriptorLimit.used + 32
        var limits = configuration.connections
        limits.perInstance = configuration.maximumTunnels + 64
        limits.descriptors = DescriptorShares(limit: limit, used: ownUse)
        logger.debug("Descriptors", metadata: ["limit": "\(limit)", "connections": "\(limits.descriptors.all)"])
        return limits
    }

    private func makeVerification(
        _ address: PlainVerification, _ tokens: TokenEndpoints, _ connections: Connections, ports: ListenerPorts,
        ready: ReadyBoard
    ) -> some ApplicationProtocol {
        logger.notice("Tokens are verified without TLS: for development only.", metadata: ["host": "\(address.host)"])
        return Application(
            router: tokens.plainRouter(), server: HTTPListener.builder(nil, connections),
            configuration: Self.application(address.host, address.port),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                ports.add(UInt16(port))
                ready.listens(verification: port)
            },
            logger: logger)
    }

    /// Where plain verification listens: on this machine only, unless the administrator insists.
    private func plainAddress() throws(GatewayError) -> PlainVerification? {
        guard var plain = configuration.plainVerification else { return nil }
        // The name may be made to lead elsewhere.
        if plain.host == "localhost" { plain.host = "127.0.0.1" }
        guard plain.isInsecureAllowed || IPAddress(plain.host)?.scope == .loopback else {
            throw GatewayError(
                .invalid, "Verification without TLS is for this machine only, 127.0.0.1 or ::1, without --insecure.")
        }
        return plain
    }

    private func makeRelay(
        _ certificate: ServerCertificate, _ policy: CurrentRelayPolicy, _ authorities: [[UInt8]],
        _ connections: Connections, ports: ListenerPorts
    ) throws -> Relay {
        var settings = RelayConfiguration(
            host: try Self.address(configuration.relayHost), port: UInt16(configuration.relayPort), trust: authorities)
        settings.egress = configuration.egress
        settings.maximumTunnels = configuration.maximumTunnels
        settings.ownPorts = { ports.all }
        return try Relay(
            configuration: settings, identity: certificate.relayIdentity, policy: policy, resolver: try resolver(),
            connections: connections, logger: logger)
    }

    private func queries() throws(GatewayError) -> any QueryResolver {
        configuration.resolver == nil ? SystemQueries() : try dnsResolver()
    }

    private func resolver() throws(GatewayError) -> any NameResolver {
        configuration.resolver == nil ? SystemResolver() : try dnsResolver()
    }

    private func dnsResolver() throws(GatewayError) -> DNSResolver {
        guard let server = configuration.resolver else { throw GatewayError(.internalFailure, "no resolver") }
        guard case .address(let address) = server.host else {
            throw GatewayError(.invalid, "--dns is the address of a resolver.")
        }
        return DNSResolver(server: address, port: server.port)
    }

    private static func address(_ host: String) throws(GatewayError) -> IPAddress {
        if host == "localhost" { return .v4(0x7f00_0001) }
        guard let address = IPAddress(host) else {
            throw GatewayError(.invalid, "--relay is ADDRESS:PORT of an interface of this machine.")
        }
        return address
    }
}

/// The ports that the gateway listens on, besides the relay's, once it does.
final class ListenerPorts: Sendable {
    private let ports = Lock<Set<UInt16>>([])
    func add(_ port: UInt16) { ports.withLock { _ = $0.insert(port) } }
    var all: Set<UInt16> { ports.withLock { $0 } }
}

/// Tells once that all listen.
final class ReadyBoard: Sendable {
    private struct State {
        var control: Int?
        var verification: Int?
    }

    private let state = Lock(State())
    private let relayPort: Int
    private let waitsForVerification: Bool
    private let onReady: @Sendable (Gateway.Listeners) -> Void

    init(
        relayPort: Int, waitsForVerification: Bool, _ onReady: @escaping @Sendable (Gateway.Listeners) -> Void
    ) {
        (self.relayPort, self.waitsForVerification, self.onReady) = (relayPort, waitsForVerification, onReady)
    }

    func listens(control port: Int) { add { $0.control = port } }
    func listens(verification port: Int) { add { $0.verification = port } }

    private func add(_ change: (inout State) -> Void) {
        let state = state.withLock { state in
            change(&state)
            return state
        }
        guard let control = state.control, state.verification != nil || !waitsForVerification else { return }
        onReady(
            Gateway.Listeners(controlPort: control, relayPort: relayPort, verificationPort: state.verification))
    }
}

extension ServerCertificate {
    var relayIdentity: RelayIdentity {
        let identity = current
        return RelayIdentity(certificates: [identity.certificate], privateKey: Redacted(identity.key))
    }
}
