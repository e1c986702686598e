extension GatewayServices {
    /// - Parameters:
    ///   - parts: what is observed.
    ///   - address: where the listener listens; nil for none.
    ///   - registry: what ``GatewayMetrics`` counts into, if there is a listener.
    func makeObservation(
        _ parts: Parts, _ address: Gateway.MetricsListener?, _ registry: PrometheusRegistry?
    ) -> Observation {
        // A gateway that leaves tunnels to others has no relay to look at.
        let health = Health(healthParts(parts).filter { configuration.role != .control || $0.name != "relay" })
        return Observation(health, at: address, registry, parts.metrics, logger: logger) { own in
            GatewayGauges(
                .init(
                    data: data, folder: folder, events: parts.events, relay: parts.relay,
                    connections: [parts.connections, own], health: health), parts.metrics.factory)
        }
    }

    /// What `/health/live` and `/health/ready` look at.
    private func healthParts(_ parts: Parts) -> [HealthPart] {
        let (store, gate) = (StoreProbe(data, folder: folder), parts.gate)
        return [
            HealthPart(name: "store") {
                let finding = await store.look()
                guard finding == .well, gate.isOver else { return finding }
                return .notReady("There is no word from the store.")
            },
            .relay(parts.relay, parts.connections),
            HealthPart(name: "control") { [data, connections = parts.connections] in
                // Every request waits for this actor.
                _ = await data.name
                return connections.hasRoom ? .well : .notReady("No descriptor is left for connections.")
            },
        ]
    }
}
