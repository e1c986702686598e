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

    func run() async throws {
        defer { store.close() }
        guard let membership = try store.membership() else {
            throw GatewayError(.notInitialized, "This folder is not a relay's.")
        }
        let gate = LeaseGate()
        let catchUp = SetOnce<@Sendable () async -> Void>()
        let current = try state(of: membership) { await catchUp.value?() }
        let policy = FollowedPolicy(current: current, lease: gate)
        func feed(for judge: any PolicyFollower, at port: UInt16) throws -> RelayFeed {
            let feed = try RelayFeed(
                store, membership,
                .init(
                    current: current, judge: judge, lease: configuration.relayLease, gate: gate, port: port,
                    logger: logger))
            catchUp.set { [weak feed] in await feed?.catchUp() }
            return feed
        }
        if configuration.role == .guarding {
            try await runGuard(by: policy) { try feed(for: $0, at: configuration.relayGuard?.port ?? 0) }
        } else {
            try await runRelay(membership, by: policy) { try feed(for: $0, at: $1) }
        }
    }

    private func runRelay(
        _ membership: RelayMembership, by policy: FollowedPolicy, _ feed: (Relay, UInt16) throws -> RelayFeed
    ) async throws {
        let relay = try makeRelay(membership, policy)
        do {
            let port = try await relay.start()
            let feed = try feed(relay, port)
            await onReady(.init(controlPort: 0, relayPort: Int(port), verificationPort: nil, metricsPort: nil))
            await cancelWhenGracefulShutdown { await feed.run() }
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    private func runGuard(by policy: FollowedPolicy, _ feed: (GuardService) throws -> RelayFeed) async throws {
        guard let relayGuard = try listeners.makeGuard(policy) else {
            throw GatewayError(.invalid, "The role guarding needs the settings of a guard.")
        }
        let feed = try feed(relayGuard)
        let running = try await relayGuard.start()
        await onReady(.init(controlPort: 0, relayPort: 0, verificationPort: nil, metricsPort: nil))
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await feed.run() }
                group.addTask { await running.run() }
            }
        }
    }

    private var listeners: ListenerSettings { ListenerSettings(configuration: configuration, logger: logger) }

    /// Nothing is known until the feed says it, and so everything is refused.
    private func state(
        of membership: RelayMembership, follow: @escaping @Sendable () async -> Void
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

    private func makeRelay(_ membership: RelayMembership, _ policy: FollowedPolicy) throws -> Relay {
        try Relay(
            configuration: listeners.relayConfiguration(trust: membership.trust),
            identity: membership.server.relayIdentity, policy: policy, resolver: listeners.resolver(),
            connections: Connections(listeners.connectionLimits(), metrics: .both(nil), logger: logger), logger: logger)
    }
}
