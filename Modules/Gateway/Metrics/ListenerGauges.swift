internal import Metrics

/// The figures of what listens, of the process and of its health, which gateways, relays and guards have.
struct ListenerGauges: Sendable {
    private let tunnels: MeterFamily
    private let open: MeterFamily
    private let unauthenticated: MeterFamily
    private let health: MeterFamily
    private let process: ProcessGauges

    /// - Parameter health: its labels name the parts.
    init(health: MetricDescription, _ factory: any MetricsFactory) {
        tunnels = MeterFamily(.tunnels, factory)
        open = MeterFamily(.connections, factory)
        unauthenticated = MeterFamily(.unauthenticated, factory)
        self.health = MeterFamily(health, factory)
        process = ProcessGauges(factory)
    }

    /// Called by one task at a time.
    ///
    /// - Parameter connections: those of instances and strangers, and those to the metrics.
    func refresh(tunnels count: Int, _ connections: [Connections], _ parts: [HealthState]) {
        tunnels.set(count)
        unauthenticated.set(connections.reduce(0) { $0 + $1.unauthenticatedCount })
        for listener in GatewayListener.allCases {
            open.set(connections.reduce(0) { $0 + $1.count(of: listener) }, listener.rawValue)
        }
        for part in parts { health.set(part.isReady ? 1 : 0, part.name) }
        process.refresh()
    }
}
