internal import Foundation
internal import Hummingbird
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire
internal import ServiceLifecycle

/// The services of a running gateway, from the first listener to the closing of its data.
struct GatewayServices: Service {
    let data: GatewayData
    /// The data directory, in which the administration socket is created.
    let folder: String
    let configuration: Gateway.Configuration
    let logger: Logger
    /// Called once, when all listeners listen.
    let onReady: @Sendable (Gateway.Listeners) async -> Void

    /// What the listeners share.
    struct Parts {
        let metrics: GatewayMetrics
        let current: CurrentState
        let events: EventHub
        let connections: Connections
        let relay: Relay
        let tokens: TokenEndpoints
        /// Nil if no foreign relay is guarded.
        let relayGuard: GuardService?
        let audit: AuditService
        let feed: FeedHub
        /// Whether relay, guard and tokens may still go by what was followed.
        let gate: LeaseGate
    }

    func run() async throws {
        do { try await open() } catch {
            await data.close()
            throw error
        }
        await data.close()
    }

    private func open() async throws {
        let plain = try plainAddress()
        let metrics = try listeners.metricsAddress()
        // Before any client sees the certificates.
        try await data.renewOwnCertificates()
        try await data.renewTokenKeys()
        if let warning = await data.store.warning() {
            logger.warning("Look at the fleet's database.", metadata: ["reason": "\(warning)"])
        }
        let registry = metrics.map { _ in PrometheusRegistry(metrics: MetricDescription.all) }
        let parts = try await makeParts(.both(registry))
        await observe(parts)
        async let telling: Void = parts.audit.tell()
        do { try await serve(parts, plain, makeObservation(parts, metrics, registry)) } catch {
            await end(parts)
            throw error
        }
        await end(parts)
        await telling
    }

    /// The ends of the last tunnels are entries of the audit trail too.
    private func end(_ parts: Parts) async {
        await parts.relay.shutdown()
        await parts.audit.finish()
    }

    /// The relay applies each change to open tunnels before the call that made the change returns.
    private func observe(_ parts: Parts) async {
        let (relay, relayGuard, metrics, feed) = (parts.relay, parts.relayGuard, parts.metrics, parts.feed)
        let (connections, current) = (parts.connections, parts.current)
        await data.onChange { data, change in
            feed.tick()
            relay.policyChanged()
            relayGuard?.policyChanged()
            let committed = data.committed
            relay.whenLoopsAnswer { metrics.policyChange.record(since: committed) }
            Self.judge(connections, by: current, after: change)
            guard case .identities = change else { return }
            try? relay.use(data.serverIdentity.relayIdentity, trust: data.authorityDERs)
        }
    }

    /// Clients of the control port that were withdrawn or removed lose their standing on their open connections too.
    private static func judge(_ connections: Connections, by current: CurrentState, after change: GatewayChange) {
        switch change {
        case .instance(let instance): connections.judge(instance.description) { current.isInGoodStanding($0) }
        case .directory, .identities: connections.judge { current.isInGoodStanding($0) }
        case .tokenKeys: break
        }
    }

    private func serve(
        _ parts: Parts, _ plain: Gateway.PlainVerification?, _ observation: Observation
    ) async throws {
        // Until there is word from the store, relay and guard refuse everything.
        await parts.feed.ask()
        let control = try await makeControl(parts)
        let verification = plain.map { makeVerification($0, parts) }
        let guarding = try await parts.relayGuard?.start()
        let administration: AdministrationServer
        do {
            administration = try await .bind(data: data, feed: parts.feed, path: folder, logger: logger)
        } catch {
            await guarding?.close()
            throw error
        }
        let hints = await data.followHints()
        let news = await data.store.news()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await control.run() }
            for service in [verification, observation.service] {
                if let service { group.addTask { try await service.run() } }
            }
            if observation.isAsked {
                group.addTask { try await Self.untilShutdown { await observation.health.run() } }
            }
            group.addTask { try await Self.untilShutdown { try await administration.run() } }
            if let guarding { group.addTask { try await Self.untilShutdown { await guarding.run() } } }
            group.addTask { try await Self.untilShutdown { try await tick(parts, observation) } }
            group.addTask { try await Self.untilShutdown(lookAfterStore) }
            group.addTask {
                for await renewed in parts.current.renewals.cancelOnGracefulShutdown() {
                    await data.sawAtRelay(renewed)
                }
            }
            group.addTask { try await Self.untilShutdown { await parts.audit.run() } }
            group.addTask { try await Self.untilShutdown { try await Self.maintain(parts.audit) } }
            group.addTask { await FleetPresence(data: data, logger: logger).run() }
            group.addTask { try await Self.untilShutdown { await parts.feed.run() } }
            group.addTask { try await Self.untilShutdown { await leaseWatch(parts).run() } }
            group.addTask { for await _ in news.cancelOnGracefulShutdown() { try? await data.catchUp() } }
            group.addTask {
                for await _ in hints.cancelOnGracefulShutdown() { await parts.events.notify(data.takeHints()) }
            }
            group.addTask {
                try? await gracefulShutdown()
                await parts.events.finish()
                parts.feed.finish()
                // The store is not followed any more, and the listeners may drain for longer than tunnels may stay.
                await parts.relay.shutdown()
            }
            try await begin(parts.relay, control, verification, observation.service)
            // The first service that fails ends the others; `waitForAll` would wait for them.
            for try await _ in group {}
        }
    }

    private func leaseWatch(_ parts: Parts) -> LeaseWatch {
        LeaseWatch(gate: parts.gate, source: "the gateway's store", logger: logger, beginsOver: false) {
            parts.relay.policyChanged()
            parts.relayGuard?.policyChanged()
        }
    }

    /// Starts the relay after the others, whose ports it must know, and reports that all listen. A listener that fails
    /// to start ends the group with its own error.
    private func begin(
        _ relay: Relay, _ control: HTTPService, _ verification: HTTPService?, _ metrics: HTTPService?
    ) async throws {
        guard let port = await control.port() else { return }
        var others: [UInt16?] = []
        for service in [verification, metrics] {
            guard let service else {
                others.append(nil)
                continue
            }
            guard let port = await service.port() else { return }
            others.append(port)
        }
        guard let relayPort = try await start(relay, besides: Set([port] + others.compactMap { $0 })) else { return }
        try await data.listens(controlPort: port, relayPort: relayPort)
        await onReady(
            .init(
                controlPort: Int(port), relayPort: Int(relayPort), verificationPort: others[0].map(Int.init),
                metricsPort: others[1].map(Int.init)))
    }

    /// The relay's port, 0 for a gateway without one; nil if the shutdown came first.
    private func start(_ relay: Relay, besides ports: Set<UInt16>) async throws(GatewayError) -> UInt16? {
        if configuration.role == .control { return 0 }
        do throws(GatewayError) {
            return try await relay.start(besides: ports)
        } catch {
            guard error.code == .ended else { throw error }
            return nil
        }
    }

    private static func untilShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown(body) } catch is CancellationError {}
    }

    /// Sends a heartbeat every two seconds; once a minute, checks the tunnels of instances that did not renew and notes
    /// which instances listen to events.
    private func tick(_ parts: Parts, _ observation: Observation) async throws {
        var lastLook = data.clock()
        while !Task.isCancelled {
            try await Task.sleep(for: .seconds(ControlEvent.heartbeatSeconds))
            await parts.events.beat()
            // By the clock against which certificates are checked.
            if abs(data.clock().timeIntervalSince(lastLook)) >= 60 {
                lastLook = data.clock()
                parts.relay.policyChanged()
                parts.relayGuard?.policyChanged()
                data.contacts.note(await parts.events.listening, at: lastLook)
                await observation.refresh()
            }
        }
    }

    /// The time after which entries of the audit trail that are beyond its limits are removed.
    private static let auditUpkeep = Duration.seconds(300)

    /// Apart from the heartbeats, since it waits for the store: streams without a heartbeat count as lost.
    private static func maintain(_ audit: AuditService) async throws {
        while !Task.isCancelled {
            try await Task.sleep(for: auditUpkeep)
            await audit.upkeep()
        }
    }

    /// The time between two attempts to read the store.
    private static let retry = Duration.milliseconds(500)

    /// What may wait for the store, apart from the heartbeats: reads it again after a failure, since the next signal may be
    /// long in coming and a withdrawal must not wait for it, and does the upkeep.
    private func lookAfterStore() async throws {
        var upkeep = GatewayUpkeep(data: data, logger: logger)
        var watch = StoreWatch(logger: logger)
        while !Task.isCancelled {
            try await Task.sleep(for: Self.retry)
            if await data.failure != nil { try? await data.catchUp() }
            watch.note(await data.trouble())
            await upkeep.runIfDue()
        }
    }
}

// MARK: Parts

extension GatewayServices {
    private func makeParts(_ metrics: GatewayMetrics) async throws -> Parts {
        let current = await data.currentState()
        let connections = Connections(listeners.connectionLimits(), metrics: metrics, logger: logger)
        let audit = try await AuditService(data, configuration, logger: logger)
        let gate = LeaseGate()
        let policy = FollowedPolicy(current: current, lease: gate)
        return Parts(
            metrics: metrics, current: current, events: EventHub(start: await data.settings.starts + 1),
            connections: connections, relay: try await makeRelay(policy, connections, audit.recorder),
            tokens: TokenEndpoints(
                data: data, service: TokenService(current: current), metrics: metrics, audit: audit.recorder,
                lease: data.store.isShared ? gate : nil, logger: logger),
            relayGuard: try listeners.makeGuard(policy, audit.recorder), audit: audit,
            feed: FeedHub(
                data, lease: configuration.relayLease, gate: gate, patience: configuration.relayPatience),
            gate: gate)
    }

    private func makeControl(_ parts: Parts) async throws -> HTTPService {
        let current = parts.current
        let feed = FeedService(
            data: data, hub: parts.feed, trails: parts.audit.relays, current: current, logger: logger)
        let plane = ControlPlane(
            data: data, events: parts.events, names: NameService(queries: try listeners.queries()), current: current,
            tokens: parts.tokens, feed: feed, metrics: parts.metrics, audit: parts.audit.recorder, logger: logger)
        let security = try HTTPListener.Security(.control(current, authority: await data.authorityDER)) {
            current.client(presenting: $0)?.instanceInGoodStanding ?? current.relayInGoodStanding(presenting: $0)
        }
        return HTTPService(
            plane.router().buildResponder(), security, parts.connections, as: .control,
            host: configuration.controlHost, port: configuration.controlPort, logger: logger)
    }

    private func makeVerification(_ address: Gateway.PlainVerification, _ parts: Parts) -> HTTPService {
        logger.notice("Tokens are verified without TLS: for development only.", metadata: ["host": "\(address.host)"])
        return HTTPService(
            parts.tokens.plainRouter().buildResponder(), nil, parts.connections, as: .verification,
            host: address.host, port: address.port, logger: logger)
    }

    /// Where plain verification listens: on this machine only, unless the administrator insists.
    private func plainAddress() throws(GatewayError) -> Gateway.PlainVerification? {
        guard var plain = configuration.plainVerification else { return nil }
        plain.host = try ListenerSettings.localHost(
            plain.host, isInsecureAllowed: plain.isInsecureAllowed,
            or: "Verification without TLS is for this machine only, 127.0.0.1 or ::1, without --insecure.")
        return plain
    }

    private var listeners: ListenerSettings { ListenerSettings(configuration: configuration, logger: logger) }

    private func makeRelay(
        _ policy: FollowedPolicy, _ connections: Connections, _ audit: AuditRecorder
    ) async throws -> Relay {
        try Relay(
            configuration: listeners.relayConfiguration(trust: await data.authorityDERs),
            identity: policy.current.value.server.relayIdentity, policy: policy, resolver: listeners.resolver(),
            connections: connections, audit: audit, logger: logger)
    }
}
