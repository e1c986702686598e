package import SallyportCore

extension World {
    /// A relay that lets the gateway's instances in, and connects to any port of the loopback.
    package func relay(
        serve: @escaping @Sendable (TestConnection, TestTLS) -> Void = { TestRelay.serve($0, $1) }
    ) throws -> TestServer {
        try TestServer { [relayTLS] in serve($0, relayTLS) }
    }

    /// Starts a relay, through which a table's servers are reached from now on: all, unless it says otherwise.
    package func relayed(
        by table: RoutingTable = RoutingTable(domains: [], default: .relay, defaultPorts: Set(1...65535)),
        blocking: Set<TLSVersion> = [], floor: TLSVersion? = nil,
        serve: @escaping @Sendable (TestConnection, TestTLS) -> Void = { TestRelay.serve($0, $1) }
    ) throws -> TestServer {
        let relay = try relay(serve: serve)
        gate.route(by: table, relay: try access(to: [relay.port]), blocking: blocking, floor: floor)
        return relay
    }

    /// A cluster of relays on this machine, in the order of their priority.
    ///
    /// - Parameter identity: what they are shown; ``instance`` by default.
    package func access(to ports: [UInt16], as identity: TestIdentity? = nil) throws -> RelayAccess {
        let relays = try ports.enumerated().map { index, port in
            try RelayAccess.Relay(Endpoint("localhost:\(port)"), priority: index + 1)
        }
        return try RelayAccess(
            cluster: "main", relays: relays, authorities: [gateway.der],
            identity: (identity ?? instance).clientIdentity)
    }
}
