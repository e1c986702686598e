internal import Foundation
internal import HashTreeCollections
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import ServiceLifecycle

/// The services of a relay on a machine of its own, or of the guard of a foreign relay: what judges tunnels there, and
/// the feed that it follows.
struct RelayRole: Service {
    let store: RelayStore
    let configuration: Gateway.Configuration
    let logger: Logger
    /// Called once, when it listens.
    let onReady: @Sendable (Gateway.Listeners) async -> Void

    /// What the relay or the guard follows; nil before it listens, and once it has ended.
    private typealias Feed = @Sendable () -> RelayFeed?

    /// What both roles have.
    private struct Parts {
        let membership: RelayMembership
        let current: CurrentState
        let gate: LeaseGate
        let metrics: GatewayMetrics
        let address: Gateway.MetricsListener?
        let registry: PrometheusRegistry?
        let feed: Feed
        let follows: @Sendable (RelayFeed) -> Void
        let audit = AuditRecorder.ofRelay()

        var policy: FollowedPolicy { FollowedPolicy(current: current, lease: gate) }
    }

    func run() async throws {
        defer { store.close() }
        guard let membership = try store.membership() else {
            throw GatewayError(.notInitialized, "This folder is not a relay's.")
        }
        let isGuard = configuration.role == .guarding
        let address = try listeners.metricsAddress()
        let registry = address.map { _ in
            PrometheusRegistry(metrics: isGuard ? MetricDescription.guarding : MetricDescription.relay)
        }
        let following = SetOnce<Feed>()
        let parts = Parts(
            membership: membership,
            current: try state(of: membership) { await following.value?()?.catchUp() ?? false },
            gate: LeaseGate(), metrics: .both(registry), address: address, registry: registry,
            feed: { following.value?() }, follows: { feed in following.set { [weak feed] in feed } })
        if isGuard { try await runGuard(parts) } else { try await runRelay(parts) }
    }

    private func runRelay(_ parts: Parts) async throws {
        let connections = Connections(listeners.connectionLimits(), metrics: parts.metrics, logger: logger)
        let relay = try makeRelay(parts, connections)
        let tunnels = { @Sendable in
            await relay.reportBytes()
            return relay.tunnelCount
        }
        let observation = observation(of: .relay(relay, connections), .relayHealth, parts, [connections], tunnels)
        do {
            try await serve(observation) { metricsPort in
                let port = try await relay.start(besides: Set([metricsPort].compactMap { $0 }))
                let feed = try makeFeed(parts, for: relay, at: port)
                let courier = AuditCourier(parts.audit, logger: logger) { await feed.clients() }
                await onReady(
                    .init(
                        controlPort: 0, relayPort: Int(port), verificationPort: nil,
                        metricsPort: metricsPort.map(Int.init)))
                await Self.follow(feed, courier)
                // The ends of the last tunnels are told too.
                await relay.shutdown()
                await courier.finish()
            }
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    private func runGuard(_ parts: Parts) async throws {
        guard let relayGuard = try listeners.makeGuard(parts.policy, parts.audit) else {
            throw GatewayError(.invalid, "The role guarding needs the settings of a guard.")
        }
        let part = HealthPart(name: "guard") {
            _ = await relayGuard.tunnelCount
            return .well
        }
        let observation = observation(of: part, .guardHealth, parts, []) { await relayGuard.tunnelCount }
        try await serve(observation) { metricsPort in
            let feed = try makeFeed(parts, for: relayGuard, at: configuration.relayGuard?.port ?? 0)
            let courier = AuditCourier(parts.audit, logger: logger) { await feed.clients() }
            let running = try await relayGuard.start()
            await onReady(
                .init(
                    controlPort: 0, relayPort: 0, verificationPort: nil, metricsPort: metricsPort.map(Int.init)))
            await Self.follow(feed, courier) { await running.run() }
            await courier.finish()
        }
    }

    /// Follows the feed, and tells of access, until the role ends.
    private static func follow(
        _ feed: RelayFeed, _ courier: AuditCourier, beside body: @escaping @Sendable () async -> Void = {}
    ) async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await feed.run() }
                group.addTask { await courier.run() }
                group.addTask { await body() }
            }
        }
    }

    private func makeFeed(_ parts: Parts, for judge: any PolicyFollower, at port: UInt16) throws -> RelayFeed {
        let feed = try RelayFeed(
            store, parts.membership,
            .init(
                current: parts.current, judge: judge, lease: configuration.relayLease, gate: parts.gate, port: port,
                logger: logger))
        parts.follows(feed)
        return feed
    }

    private var listeners: ListenerSettings { ListenerSettings(configuration: configuration, logger: logger) }

    /// Nothing is known until the feed says it, and so everything is refused.
    private func state(
        of membership: RelayMembership, follow: @escaping @Sendable () async -> Bool
    ) throws -> CurrentState {
        let clock: @Sendable () -> Date = { Date() }
        let nothing = RelaySnapshot(directory: Directory(), instances: InstanceTable(), clock: clock)
        let authorities = try FeedAuthorities(trust: membership.trust).accepted()
        return CurrentState(
            GatewayState(
                policy: nothing, authorities: authorities, server: membership.server,
                tokenKeys: ReadyTokenKeys(TokenKeys([]))),
            contacts: ContactLedger(), clock: clock, follow: follow)
    }

    private func makeRelay(_ parts: Parts, _ connections: Connections) throws -> Relay {
        try Relay(
            configuration: listeners.relayConfiguration(trust: parts.membership.trust),
            identity: parts.membership.server.relayIdentity, policy: parts.policy, resolver: listeners.resolver(),
            connections: connections, audit: parts.audit, logger: logger)
    }
}

// MARK: Observation

extension RelayRole {
    /// - Parameters:
    ///   - part: what listens here.
    ///   - tunnels: has them report the bytes that they carried, and returns their number.
    private func observation(
        of part: HealthPart, _ description: MetricDescription, _ parts: Parts, _ connections: [Connections],
        _ tunnels: @escaping @Sendable () async -> Int
    ) -> Observation {
        let feed = parts.feed
        let health = Health([
            part,
            HealthPart(name: "feed") { await feed()?.health ?? .notReady("It has not started yet.") },
        ])
        return Observation(health, at: parts.address, parts.registry, parts.metrics, logger: logger) { own in
            RelayGauges(
                .init(
                    tunnels: tunnels, connections: connections + [own], health: health,
                    feed: { await feed()?.figures() }), health: description, parts.metrics.factory)
        }
    }

    /// Serves metrics beside `body`, which is given the port of their listener, until that ends or one of them fails.
    private func serve(
        _ observation: Observation, _ body: @escaping @Sendable (UInt16?) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let service = observation.service { group.addTask { try await service.run() } }
            if observation.isAsked {
                group.addTask { await cancelWhenGracefulShutdown { await observation.health.run() } }
                group.addTask { await cancelWhenGracefulShutdown { await Self.refresh(observation) } }
            }
            let port = await observation.service?.port()
            if port != nil || observation.service == nil { group.addTask { try await body(port) } }
            // The first that fails ends the others; `waitForAll` would wait for them.
            for try await _ in group {}
        }
    }

    private static func refresh(_ observation: Observation) async {
        while (try? await Task.sleep(for: .seconds(60))) != nil { await observation.refresh() }
    }
}
