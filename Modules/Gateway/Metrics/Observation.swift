internal import Logging

/// The figures that are read when a client asks for them.
protocol Gauges: Sendable {
    func refresh() async
}

/// Metrics and health of a running gateway, relay or guard, and the listener that tells them.
struct Observation: Sendable {
    /// The most connections to the metrics at a time; a further one replaces the oldest. They are counted apart from
    /// those of apps and strangers: a flood of those must not keep an administrator from seeing it.
    static let connections = 32

    let health: Health
    private let gauges: any Gauges
    /// Nil if there is no such listener.
    let service: HTTPService?

    /// - Parameters:
    ///   - gauges: is given the connections to the metrics.
    ///   - address: where the listener listens; nil for none.
    ///   - registry: what ``GatewayMetrics`` counts into, if there is a listener.
    init(
        _ health: Health, at address: Gateway.MetricsListener?, _ registry: PrometheusRegistry?,
        _ metrics: GatewayMetrics, logger: Logger, gauges: (Connections) -> any Gauges
    ) {
        var limits = ConnectionLimits()
        (limits.perSource, limits.unauthenticated) = (Self.connections, Self.connections)
        let own = Connections(limits, metrics: metrics, logger: logger)
        let gauges = gauges(own)
        (self.health, self.gauges) = (health, gauges)
        service = address.flatMap { address in
            registry.map { registry in
                HTTPService(
                    MetricsResponder(page: MetricsPage(registry, gauges), health: health), nil, own, as: .metrics,
                    host: address.host, port: address.port, logger: logger)
            }
        }
    }

    /// Whether anybody asks for health and figures: looking at the store costs writes.
    var isAsked: Bool { service != nil || GatewayMetrics.hasSystem }

    /// Reads the figures for a metrics system of this process, which does not ask for them.
    func refresh() async {
        if GatewayMetrics.hasSystem { await gauges.refresh() }
    }
}
