internal import Foundation
internal import HashTreeCollections
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import ServiceLifecycle

/// The services of a relay on a machine of its own: its listener, and the feed that it follows.
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
        let lease = LeaseGate(configuration.relayLease)
        let catchUp = SetOnce<@Sendable () async -> Void>()
        let current = try state(of: membership) { await catchUp.value?() }
        let relay = try makeRelay(membership, FollowedPolicy(current: current, lease: lease), current)
        do {
            let port = try await relay.start()
            let feed = try RelayFeed(
                store, membership, .init(current: current, relay: relay, lease: lease, port: port, logger: logger))
            catchUp.set { [weak feed] in await feed?.catchUp() }
            await onReady(.init(controlPort: 0, relayPort: Int(port), verificationPort: nil, metricsPort: nil))
            await cancelWhenGracefulShutdown { await feed.run() }
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

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

    private func makeRelay(
        _ membership: RelayMembership, _ policy: FollowedPolicy, _ current: CurrentState
    ) throws -> Relay {
        let services = ListenerSettings(configuration: configuration, logger: logger)
        return try Relay(
            configuration: services.relayConfiguration(trust: membership.trust),
            identity: membership.server.relayIdentity, policy: policy, resolver: services.resolver(),
            connections: Connections(services.connectionLimits(), metrics: .both(nil), logger: logger), logger: logger)
    }
}
