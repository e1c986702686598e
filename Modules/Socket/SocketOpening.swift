internal import Logging
internal import SallyportCore
internal import SallyportTransport

/// What a socket connects to.
struct SocketTarget: Sendable {
    let endpoint: Endpoint
    let isSecure: Bool
    let configuration: SocketConfiguration
}

/// How one connection comes about: the policy is asked, the way it names is gone and no other, and lower versions of TLS are
/// tried as URL loading tries them.
struct SocketOpening {
    let target: SocketTarget
    let gate: any AccessGate
    let transport: Transport
    let history: TLSVersionHistory
    /// What `ControlTLSVersions` adds for a host.
    let added: @Sendable (Host) -> TLSVersions
    let logger: Logger
    private let begin = ContinuousClock.now

    init(
        _ target: SocketTarget, gate: any AccessGate, transport: Transport, history: TLSVersionHistory,
        added: @escaping @Sendable (Host) -> TLSVersions, logger: Logger
    ) {
        self.target = target
        self.gate = gate
        self.transport = transport
        self.history = history
        self.added = added
        self.logger = logger
    }

    func open() async throws(LoadError) -> (tunnel: Tunnel, decision: RouteDecision) {
        let (endpoint, settings) = (target.endpoint, target.configuration)
        let way = try gate.way(
            to: endpoint, isSecure: target.isSecure, offering: settings.versions(adding: added(endpoint.host)))
        let tunnel = try await connect(by: way)
        do throws(LoadError) {
            try gate.confirm(way, tunnel.openConnection)
        } catch {
            tunnel.reset()
            throw error
        }
        return (tunnel, way.decision)
    }

    /// With the versions that come first, and once more with lower ones where the app has added some.
    private func connect(by way: ServerWay) async throws(LoadError) -> Tunnel {
        let offer = TLSVersionOffer(way.versions)
        let lower = history.isModern(target.endpoint) ? nil : offer.fallback
        if let lower, history.isLegacy(target.endpoint) {
            return try await connect(by: way, offering: lower, isFallback: true)
        }
        do throws(LoadError) {
            let tunnel = try await connect(by: way, offering: offer.first, isFallback: false)
            if offer.fallback != nil { history.reached(target.endpoint, withLowerVersions: false) }
            return tunnel
        } catch {
            guard let lower, error.asksForLowerVersions else { throw error }
            logger.debug("Trying lower versions of TLS.")
            let tunnel = try await connect(by: way, offering: lower, isFallback: true)
            history.reached(target.endpoint, withLowerVersions: true)
            return tunnel
        }
    }

    private func connect(
        by way: ServerWay, offering versions: TLSVersions, isFallback: Bool
    ) async throws(LoadError) -> Tunnel {
        var request = TunnelRequest(to: target.endpoint, isSecure: target.isSecure)
        request.applicationProtocols = target.configuration.applicationProtocols
        request.idleTimeout = target.configuration.idleTimeout
        request.connectTimeout = target.configuration.connectTimeout
        if let lifetime = target.configuration.lifetime {
            request.deadline = begin + lifetime
            let rest = ContinuousClock.now.duration(to: begin + lifetime)
            guard rest > .zero else {
                throw LoadError(.resourceTimeout, at: .connect, "The time for the whole stream is over.")
            }
            request.connectTimeout = min(request.connectTimeout, rest)
        }
        return try await transport.tunnel(request, via: path(way, versions, isFallback: isFallback))
    }

    private func path(_ way: ServerWay, _ versions: TLSVersions, isFallback: Bool) -> ConnectionPath {
        let settings = target.configuration
        let trust = settings.disabled.contains(.peer) ? TrustAnchors.unverified : settings.trust.anchors
        var path = ConnectionPath(relay: way.relay, versions: versions, trust: trust)
        if way.relay == nil { path.addresses = way.decision.addresses }
        path.isFallback = isFallback
        path.checksHost = !settings.disabled.contains(.host)
        path.identity = settings.clientIdentity
        if let pins = settings.pins { path.pins = [target.endpoint.host: pins] }
        return path
    }
}
