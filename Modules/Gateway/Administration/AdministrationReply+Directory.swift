extension AdministrationReply {
    /// An application, as it was added.
    package struct ApplicationEntry: Sendable, Hashable, Codable {
        package var entitlement: String
        /// In ascending order.
        package var versions: [String]
        /// The number of users that are entitled to one of the versions.
        package var users: Int
        /// The number of servers that belong to it.
        package var servers: Int

        package init(entitlement: String, versions: [String], users: Int, servers: Int) {
            self.entitlement = entitlement
            self.versions = versions
            self.users = users
            self.servers = servers
        }
    }

    /// A rule by which servers are reached that are not listed themselves.
    package struct RouteEntry: Sendable, Hashable, Codable {
        /// A domain, a network, or `default` for the names that no other rule matches.
        package var domain: String
        package var route: String
        /// The name of the cluster that stands in for the route's.
        package var secondary: String?
        /// The ports that a relay opens; nil for a network, which is denied on all ports.
        package var ports: [UInt16]?

        package init(domain: String, route: String, secondary: String? = nil, ports: [UInt16]?) {
            self.secondary = secondary
            self.domain = domain
            self.route = route
            self.ports = ports
        }
    }

    /// A cluster of relays, the gateway's own among them.
    package struct ClusterEntry: Sendable, Hashable, Codable {
        package var name: String
        /// In the order in which they are tried.
        package var relays: [AdministrationCommand.RelayEntry]
        /// The SHA-256 of each authority of the relays' certificates, in hexadecimal; nil for the gateway's own.
        package var authorities: [String]?

        package init(name: String, relays: [AdministrationCommand.RelayEntry], authorities: [String]? = nil) {
            self.name = name
            self.relays = relays
            self.authorities = authorities
        }
    }
}
