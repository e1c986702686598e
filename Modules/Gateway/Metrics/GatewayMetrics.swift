internal import Metrics

/// What the gateway counts while it works; ``GatewayGauges`` has what is read when somebody asks.
///
/// A call costs an addition to an atomic, at each connection, CONNECT and request. Nothing is counted here for each
/// read of a tunnel: see ``Tunnel/reportBytes()``.
final class GatewayMetrics: Sendable {
    let factory: any MetricsFactory
    let connects: CounterFamily
    let tunnelsEnded: CounterFamily
    let relayedBytes: CounterFamily
    let dial: TimerFamily
    let policyChange: TimerFamily
    let accepted: CounterFamily
    let refused: CounterFamily
    let handshakeFailures: CounterFamily
    let requests: CounterFamily
    let verifications: CounterFamily

    /// - Parameter factory: by default, what this process has bootstrapped.
    init(_ factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        connects = CounterFamily(.connects, factory)
        tunnelsEnded = CounterFamily(.tunnelsEnded, factory)
        relayedBytes = CounterFamily(.relayedBytes, factory)
        dial = TimerFamily(.dial, factory)
        policyChange = TimerFamily(.policyChange, factory)
        accepted = CounterFamily(.accepted, factory)
        refused = CounterFamily(.refused, factory)
        handshakeFailures = CounterFamily(.handshakeFailures, factory)
        requests = CounterFamily(.requests, factory)
        verifications = CounterFamily(.verifications, factory)
    }

    /// To the listener for Prometheus, and to what this process has bootstrapped, if that is anything.
    static func both(_ registry: PrometheusRegistry?) -> GatewayMetrics {
        guard let registry else { return GatewayMetrics() }
        guard hasSystem else { return GatewayMetrics(registry) }
        return GatewayMetrics(MultiplexMetricsHandler(factories: [registry, MetricsSystem.factory]))
    }

    /// Whether this process has bootstrapped a metrics system.
    static var hasSystem: Bool { !(MetricsSystem.factory is NOOPMetricsHandler) }
}
