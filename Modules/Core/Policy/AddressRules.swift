/// The addresses to which no connection is made, under any name: the networks that an administrator denies, the servers
/// that an administrator denies by their address, and the metadata services of clouds.
///
/// The relay, and the client for direct connections, ask these rules for each address before connecting to it. All
/// decisions of one ``RoutingTable`` share one reference.
public struct AddressRules: Sendable, Hashable {
    private let parts: Parts

    /// The rules without an administrator's additions: only the metadata services are denied.
    public static let standard = AddressRules()

    /// - Parameters:
    ///   - networks: Denied on all ports.
    ///   - servers: Denied on their port. Those given by name have no effect here.
    init(networks: [IPNetwork] = [], servers: some Sequence<Endpoint> = []) {
        parts = Parts(
            networks: Self.outermost(networks),
            servers: Set(servers.filter { if case .address = $0.host { true } else { false } }))
    }

    /// Whether an administrator has denied any address.
    package var hasOwn: Bool { !parts.networks.isEmpty || !parts.servers.isEmpty }

    /// The rule that denies an address; nil if connections to it may be made.
    ///
    /// Both the address itself and the addresses that it may reach (``IPAddress/aliases``) are checked.
    package func denial(of address: IPAddress, port: UInt16) -> RouteDecision.Rule? {
        if let rule = rule(for: address, port) { return rule }
        return address.aliases.lazy.compactMap { rule(for: $0, port) }.first
    }

    /// The rule that denies an address to which a server's name resolves. The name itself was judged already, together
    /// with its route.
    package func denial(of address: IPAddress, port: UInt16, for server: Endpoint) -> RouteDecision.Rule? {
        if case .address(address) = server.host, server.port == port { return nil }
        return denial(of: address, port: port)
    }

    private func rule(for address: IPAddress, _ port: UInt16) -> RouteDecision.Rule? {
        if let network = network(with: address) { return .network(network) }
        if !parts.servers.isEmpty, let server = try? Endpoint(host: .address(address), port: port),
            parts.servers.contains(server)
        {
            return .server(server)
        }
        return CloudMetadata.addresses.contains(address) ? .metadata : nil
    }

    /// The networks are in order and do not overlap: only the last one that begins at or before the address can match.
    private func network(with address: IPAddress) -> IPNetwork? {
        let place = IPNetwork(address)
        var (low, high) = (0, parts.networks.count)
        while low < high {
            let middle = (low + high) / 2
            if parts.networks[middle] <= place { low = middle + 1 } else { high = middle }
        }
        guard low > 0, parts.networks[low - 1].contains(address) else { return nil }
        return parts.networks[low - 1]
    }

    /// The networks in order, without those that lie inside another.
    private static func outermost(_ networks: [IPNetwork]) -> [IPNetwork] {
        networks.sorted().reduce(into: []) { kept, network in
            if kept.last?.contains(network.address) != true { kept.append(network) }
        }
    }

    /// The rules' content, behind one reference: each decision and each path of connections holds and compares it.
    private final class Parts: Sendable, Hashable {
        let networks: [IPNetwork]
        let servers: Set<Endpoint>

        init(networks: [IPNetwork], servers: Set<Endpoint>) {
            (self.networks, self.servers) = (networks, servers)
        }

        static func == (one: Parts, other: Parts) -> Bool {
            if one === other { return true }
            return one.networks == other.networks && one.servers == other.servers
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(networks.count)
            hasher.combine(servers.count)
        }
    }
}

/// The addresses at which clouds give a machine its secrets without authentication. Names such as
/// `metadata.google.internal` resolve to one of these.
enum CloudMetadata {
    static let addresses: Set<IPAddress> = Set(
        [
            // Amazon, Google, Azure, OpenStack, Oracle, DigitalOcean, Hetzner and others, IPv4 and IPv6.
            "169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:a9fe:a9fe::1",
            "fe80::a9fe:a9fe",
            // Amazon: credentials of containers (ECS) and pods (EKS).
            "169.254.170.2", "169.254.170.23", "fd00:ec2::23",
            // Azure's host, which hands out certificates and extensions' settings.
            "168.63.129.16",
            // Alibaba, Tencent, Scaleway, and Oracle's classic regions.
            "100.100.100.200", "169.254.0.23", "169.254.42.42", "fd00:42::42", "192.0.0.192",
        ].compactMap { IPAddress($0) })
}
