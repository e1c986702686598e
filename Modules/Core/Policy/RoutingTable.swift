/// An administrator's rules, and the algorithm that derives a route from them.
///
/// The client asks it before any connection, and the relay asks it again at every CONNECT. Order: the exact server
/// (host and port), else the longest matching domain, else the default. `deny` on a matching server, on any matching
/// domain or on a network that contains the address wins over these. If the host is a name, the networks are checked
/// once its addresses are known, before a connection is made to one of them.
public struct RoutingTable: Sendable, Hashable {
    /// A single server.
    public struct Server: Sendable, Hashable {
        /// The exact host and port to which the rule applies.
        public var endpoint: Endpoint
        /// How the server is reached. A relay opens its port, whatever the ports of other rules.
        public var route: Route
        /// The cluster of relays that is used while no relay of the route's can be reached; nil for none.
        public var secondary: String?

        /// - Parameters:
        ///   - endpoint: the exact host and port.
        ///   - route: how the server is reached.
        ///   - secondary: the cluster that stands in; nil for none.
        public init(_ endpoint: Endpoint, route: Route, secondary: String? = nil) {
            self.endpoint = endpoint
            self.route = route
            self.secondary = secondary
        }
    }

    /// A domain and all names below it.
    public struct Domain: Sendable, Hashable {
        /// In A-labels and lower case, without a leading dot.
        public var name: String
        /// How the domain's names are reached. `deny` wins over the rules for names and servers below.
        public var route: Route
        /// Ports that relays open for this rule.
        public var ports: Set<UInt16>
        /// The cluster of relays that is used while no relay of the route's can be reached; nil for none.
        public var secondary: String?

        /// - Parameters:
        ///   - name: in A-labels and lower case, without a leading dot; not checked.
        ///   - route: how the domain's names are reached.
        ///   - ports: that relays open; ``RoutingTable/defaultPorts`` by default. Ignored for routes that are not
        ///     relayed.
        ///   - secondary: the cluster that stands in; nil for none.
        public init(
            _ name: String, route: Route, ports: Set<UInt16> = RoutingTable.defaultPorts, secondary: String? = nil
        ) {
            self.name = name
            self.route = route
            self.ports = ports
            self.secondary = secondary
        }
    }

    /// The ports that a relay opens for a domain or the default unless a rule says otherwise.
    public static let defaultPorts: Set<UInt16> = [80, 443]

    private let servers: [Endpoint: Server]
    private let domains: [String: Domain]
    private let fallback: Domain
    /// The domains to which short names may belong, in the order in which they are considered.
    let defaultDomains: [String]
    /// The rules for the addresses to which names lead. Every decision carries them.
    package let addresses: AddressRules

    /// - Parameters:
    ///   - servers: rules for single servers; of two for the same one `deny` wins, else the later.
    ///   - domains: rules for domains and all names below them; `deny` wins if one is listed twice.
    ///   - networks: addresses that are denied, on all ports.
    ///   - fallback: the route of what no rule matches.
    ///   - defaultPorts: the ports that relays open for `fallback`.
    ///   - secondary: the cluster that stands in for that of `fallback`; nil for none.
    ///   - defaultDomains: the domains to which short names may belong, in A-labels and lower case.
    public init(
        servers: [Server] = [], domains: [Domain] = [], denying networks: [IPNetwork] = [],
        default fallback: Route = .deny, defaultPorts: Set<UInt16> = RoutingTable.defaultPorts,
        secondary: String? = nil, defaultDomains: [String] = []
    ) {
        self.servers = Dictionary(servers.map { ($0.endpoint, $0) }) { $0.route == .deny ? $0 : $1 }
        addresses = AddressRules(
            networks: networks, servers: servers.lazy.filter { $0.route == .deny }.map(\.endpoint))
        self.domains = Dictionary(domains.map { ($0.name, $0) }) { first, second in
            first.route == .deny ? first : second
        }
        self.fallback = Domain("", route: fallback, ports: defaultPorts, secondary: secondary)
        self.defaultDomains = defaultDomains
    }

    /// The route to a server and the rule that decided.
    public func decide(_ endpoint: Endpoint) -> RouteDecision {
        if case .address(let address) = endpoint.host, let rule = denial(of: address, as: endpoint) {
            return decision(endpoint, .deny, by: rule)
        }
        let matching = matchingDomains(of: endpoint.host)
        if let denied = matching.first(where: { $0.route == .deny }) {
            return decision(endpoint, .deny, by: .domain(denied.name))
        }
        if let server = servers[endpoint] {
            return decision(endpoint, server.route, by: .server(endpoint), secondary: server.secondary)
        }
        if let longest = matching.first { return decide(endpoint, longest, by: .domain(longest.name)) }
        return decide(endpoint, fallback, by: .default)
    }

    /// Whether a rule names the host itself, on any port, or a domain that contains it.
    func names(_ host: Host) -> Bool {
        servers.contains { $0.key.host == host } || !matchingDomains(of: host).isEmpty
    }

    /// Whether the host is relayed on any port: such names may be looked up.
    public func relays(_ host: Host) -> Bool {
        let matching = matchingDomains(of: host)
        if matching.contains(where: { $0.route == .deny }) { return false }
        if servers.contains(where: { $0.key.host == host && $0.value.route.isRelay }) { return true }
        if let longest = matching.first { return longest.route.isRelay }
        return fallback.route.isRelay
    }

    private func decide(_ endpoint: Endpoint, _ domain: Domain, by rule: RouteDecision.Rule) -> RouteDecision {
        guard domain.route.isRelay, !domain.ports.contains(endpoint.port) else {
            return decision(endpoint, domain.route, by: rule, secondary: domain.secondary)
        }
        return RouteDecision(endpoint: endpoint, route: .deny, rule: rule, isPortClosed: true, addresses: addresses)
    }

    private func decision(
        _ endpoint: Endpoint, _ route: Route, by rule: RouteDecision.Rule, secondary: String? = nil
    ) -> RouteDecision {
        RouteDecision(
            endpoint: endpoint, route: route, secondary: route.isRelay ? secondary : nil, rule: rule,
            addresses: addresses)
    }

    /// The rule that denies an address literal. A metadata service can be reached only if it is listed as a server.
    private func denial(of address: IPAddress, as endpoint: Endpoint) -> RouteDecision.Rule? {
        guard let rule = addresses.denial(of: address, port: endpoint.port) else { return nil }
        return rule == .metadata && servers[endpoint] != nil ? nil : rule
    }

    /// The rules for the name and every domain above it, the longest first. An address has none.
    private func matchingDomains(of host: Host) -> [Domain] {
        guard case .name(let name) = host, !domains.isEmpty else { return [] }
        var rest = Substring(name)
        var found: [Domain] = []
        while true {
            if let domain = domains[String(rest)] { found.append(domain) }
            guard let dot = rest.firstIndex(of: ".") else { return found }
            rest = rest[rest.index(after: dot)...]
        }
    }
}

/// The result of a routing table: the route, and the reason.
public struct RouteDecision: Sendable, Hashable, CustomStringConvertible {
    /// The rule that decided.
    public enum Rule: Sendable, Hashable, CustomStringConvertible {
        /// The rule for exactly this host and port; or the `deny` of a server at the address, or at one to which the
        /// name resolves.
        case server(Endpoint)
        /// The rule for the longest domain that contains the name, or for one above it that denies.
        case domain(String)
        /// The network contains the address, or one to which the name resolves.
        case network(IPNetwork)
        /// The address, or one to which the name resolves, is that of a cloud's metadata service.
        case metadata
        /// No rule matches: the default route decides.
        case `default`

        /// `server HOST:PORT`, `domain NAME`, `network ADDRESS/BITS`, `cloud metadata` or `default`.
        public var description: String {
            switch self {
            case .server(let endpoint): "server \(endpoint)"
            case .domain(let name): "domain \(name)"
            case .network(let network): "network \(network)"
            case .metadata: "cloud metadata"
            case .default: "default"
            }
        }
    }

    /// What was asked for.
    public let endpoint: Endpoint
    /// How it is reached; also `deny` if ``isPortClosed``.
    public let route: Route
    /// The cluster of relays that is used while no relay of the route's can be reached; nil for none.
    public let secondary: String?
    /// The rule that decided.
    public let rule: Rule
    /// The rule would relay, but does not open this port.
    public let isPortClosed: Bool
    /// The rules for each address to which the host leads, to be checked before a connection is made to it.
    package let addresses: AddressRules

    package init(
        endpoint: Endpoint, route: Route, secondary: String? = nil, rule: Rule, isPortClosed: Bool = false,
        addresses: AddressRules = .standard
    ) {
        self.endpoint = endpoint
        self.route = route
        self.secondary = secondary
        self.rule = rule
        self.isPortClosed = isPortClosed
        self.addresses = addresses
    }

    /// For people: the route and the reason.
    public var description: String {
        if isPortClosed { return "\(endpoint): deny (\(rule) does not open port \(endpoint.port))" }
        let second = secondary.map { ", else \(Route.relay(cluster: $0))" } ?? ""
        return "\(endpoint): \(route)\(second) (\(rule))"
    }

    /// The same decision, where the secondary cluster takes the place of the first; nil if there is none.
    package var bySecondary: RouteDecision? {
        secondary.map {
            RouteDecision(endpoint: endpoint, route: .relay(cluster: $0), rule: rule, addresses: addresses)
        }
    }
}
