internal import SallyportCore
internal import SallyportLoading

// Networks: rules for addresses. A network can only be denied, since routes are chosen by name.
extension Directory {
    mutating func deny(_ network: IPNetwork, _ rule: Domain) throws(GatewayError) {
        guard rule.route == .deny else {
            throw GatewayError(
                .invalid, "A network can only be denied: routes are set for names, and `server add` routes one address."
            )
        }
        guard rule.ports == RoutingTable.defaultPorts else {
            throw GatewayError(.invalid, "A network is denied on all ports.")
        }
        if !deniedNetworks.contains(network) { try check(deniedNetworks.count, Limits.networks, "networks") }
        deniedNetworks.insert(network)
    }

    /// The network that a rule names: `ADDRESS/BITS`, or a single address in any spelling of a host. Nil if the text is
    /// a name.
    static func network(_ text: String) throws(GatewayError) -> IPNetwork? {
        guard text.contains("/") else {
            guard case .address(let address)? = try? Host(text) else { return nil }
            return try unmapped(IPNetwork(address))
        }
        guard let (network, isExact) = IPNetwork.around(text) else {
            throw GatewayError(
                .invalid, "A network is ADDRESS/BITS, such as 10.0.0.0/8 or fd00::/8, without brackets and zones.")
        }
        guard isExact else {
            throw GatewayError(.invalid, "The address has bits behind those of the network: write \(network).")
        }
        return try unmapped(network)
    }

    /// An IPv4 network covers every IPv6 form of its addresses, so a network of mapped addresses is turned into an IPv4
    /// one: it would otherwise cover that form alone.
    private static func unmapped(_ network: IPNetwork) throws(GatewayError) -> IPNetwork {
        guard case .v6(0, let low) = network.address, low >> 32 == 0xffff, network.bits >= 96,
            let plain = IPNetwork(of: .v4(UInt32(truncatingIfNeeded: low)), bits: network.bits - 96)
        else { return network }
        throw GatewayError(
            .invalid, "The network is one of IPv4: write \(plain), which holds for mapped addresses too.")
    }

    /// The servers that are listed for an app: its own, and those for all apps. Of two with one endpoint the app's own
    /// counts alone, unless the other is denied to all.
    ///
    /// - Parameter application: nil for the servers of all apps alone.
    func servers(for application: String?) -> [Server] {
        let own = Set(servers.lazy.filter { $0.application != nil && $0.application == application }.map(\.endpoint))
        return servers.filter { server in
            guard server.application == nil else { return server.application == application }
            return server.route == .deny || !own.contains(server.endpoint)
        }
    }

    /// The table by which an app's routes are decided.
    ///
    /// - Parameter application: nil for the table of an app that has no servers of its own.
    func routingTable(for application: String?) -> RoutingTable {
        RoutingTable(
            servers: servers(for: application).compactMap { server in
                (try? Endpoint(server.endpoint)).map {
                    RoutingTable.Server($0, route: server.route, secondary: server.secondary)
                }
            },
            domains: domains.map { name, rule in
                RoutingTable.Domain(name, route: rule.route, ports: rule.ports, secondary: rule.secondary)
            },
            denying: Array(deniedNetworks), default: defaultRoute.route, defaultPorts: defaultRoute.ports,
            secondary: defaultRoute.secondary, defaultDomains: defaultDomains ?? [])
    }
}
