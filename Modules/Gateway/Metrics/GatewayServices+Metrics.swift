internal import SallyportCore

/// Metrics and health of a running gateway, and the listener that tells them.
struct Observation: Sendable {
    let health: Health
    let gauges: GatewayGauges
    let metrics: GatewayMetrics
    /// Nil if the gateway has no such listener.
    let service: HTTPService?

    /// Whether anybody asks for health and figures: looking at the store costs writes.
    var isAsked: Bool { service != nil || GatewayMetrics.hasSystem }

    /// Reads the figures for a metrics system of this process, which does not ask for them.
    func refresh() async {
        if GatewayMetrics.hasSystem { await gauges.refresh() }
    }
}

extension GatewayServices {
    /// The most connections to the metrics at a time; a further one replaces the oldest. They are counted apart from
    /// those of apps and strangers: a flood of those must not keep an administrator from seeing it.
    static let metricsConnections = 32

    /// - Parameters:
    ///   - parts: what is observed.
    ///   - address: where the listener listens; nil for none.
    ///   - registry: what ``GatewayMetrics`` counts into, if there is a listener.
    func makeObservation(
        _ parts: Parts, _ address: Gateway.MetricsListener?, _ registry: PrometheusRegistry?
    ) -> Observation {
        // A gateway that leaves tunnels to others has no relay to look at.
        let health = Health(healthParts(parts).filter { configuration.role != .control || $0.name != "relay" })
        var limits = ConnectionLimits()
        (limits.perSource, limits.unauthenticated) = (Self.metricsConnections, Self.metricsConnections)
        let own = Connections(limits, metrics: parts.metrics, logger: logger)
        let gauges = GatewayGauges(
            .init(
                data: data, folder: folder, events: parts.events, relay: parts.relay,
                connections: [parts.connections, own], health: health), parts.metrics.factory)
        let service = address.flatMap { address in
            registry.map { registry in
                HTTPService(
                    MetricsResponder(page: MetricsPage(registry, gauges), health: health), nil, own, as: .metrics,
                    host: address.host, port: address.port, logger: logger)
            }
        }
        return Observation(health: health, gauges: gauges, metrics: parts.metrics, service: service)
    }

    /// What `/health/live` and `/health/ready` look at.
    private func healthParts(_ parts: Parts) -> [HealthPart] {
        let store = StoreProbe(data, folder: folder)
        return [
            HealthPart(name: "store") { await store.look() },
            HealthPart(name: "relay") { [relay = parts.relay, connections = parts.connections] in
                guard let isListening = await relay.isListening() else { return .notReady("It has not started yet.") }
                guard isListening else { return .failed("The relay does not listen.") }
                return connections.hasRoom ? .well : .notReady("No descriptor is left for connections.")
            },
            HealthPart(name: "control") { [data, connections = parts.connections] in
                // Every request waits for this actor.
                _ = await data.name
                return connections.hasRoom ? .well : .notReady("No descriptor is left for connections.")
            },
        ]
    }

    /// The listener for metrics, on this machine only unless the administrator insists.
    func metricsAddress() throws(GatewayError) -> Gateway.MetricsListener? {
        guard var listener = configuration.metrics else { return nil }
        listener.host = try Self.localHost(
            listener.host, isInsecureAllowed: listener.isInsecureAllowed,
            or: "Metrics are told without TLS, so on this machine only, 127.0.0.1 or ::1, without --metrics-insecure.")
        return listener
    }

    /// The host of a listener without TLS.
    ///
    /// - Parameter message: says why a host that other machines can reach is refused.
    static func localHost(
        _ host: String, isInsecureAllowed: Bool, or message: String
    ) throws(GatewayError) -> String {
        // The name `localhost` could be made to resolve to another address.
        if host == "localhost" { return "127.0.0.1" }
        guard isInsecureAllowed || IPAddress(host)?.scope == .loopback else { throw GatewayError(.invalid, message) }
        return host
    }
}
