/// Which addresses no connection is made to, whatever name leads there: the networks that an administrator denies, the
/// servers that are denied by their address, and the metadata services of clouds.
///
/// Asked for each address before a connection is made to it, by the relay and by direct connections. All decisions of one
/// ``RoutingTable`` share one reference.
public struct AddressRules: Sendable, Hashable {
    private let parts: Parts

    /// The metadata services alone: what holds where an administrator has said nothing.
    public static let standard = AddressRules()

    /// - Parameters:
    ///   - networks: Denied on all ports.
    ///   - servers: Denied on their port; those that have a name count nothing here.
    init(networks: [IPNetwork] = [], servers: some Sequence<Endpoint> = []) {
        parts = Parts(
            networks: Self.outermost(networks),
            servers: Set(servers.filter { if case .address = $0.host { true } else { false } }))
    }

    /// Whether an administrator has denied any address.
    package var hasOwn: Bool { !parts.networks.isEmpty || !parts.servers.isEmpty }

    /// The rule that denies an address; nil where connections to it may be made.
    ///
    /// The address counts, and what it stands for (``IPAddress/aliases``).
    package func denial(of address: IPAddress, port: UInt16) -> RouteDecision.Rule? {
        if let rule = rule(for: address, port) { return rule }
        return address.aliases.lazy.compactMap { rule(for: $0, port) }.first
    }

    /// The rule that denies an address to which a server's name leads. What the server itself is was judged with its
    /// route.
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

    /// The networks are apart and in order: only the last that does not begin behind the address can have it.
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

    /// In order, without those that lie inside of another.
    private static func outermost(_ networks: [IPNetwork]) -> [IPNetwork] {
        networks.sorted().reduce(into: []) { kept, network in
            if kept.last?.contains(network.address) != true { kept.append(network) }
        }
    }

    /// Each decision and each path of connections carries and compares them: one reference.
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

/// Where clouds tell a machine its secrets without asking who reads them. Names such as `metadata.google.internal` lead to
/// one of these.
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
