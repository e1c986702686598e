internal import SallyportCore
internal import SallyportWire

// What is declared, sorted for an administrator.
extension Directory {
    var applicationEntries: [AdministrationReply.ApplicationEntry] {
        var entitled: [String: Int] = [:]
        for user in users.values {
            for entitlement in user.entitlements.keys { entitled[entitlement, default: 0] += 1 }
        }
        var owned: [String: Int] = [:]
        for server in servers {
            if let application = server.application { owned[application, default: 0] += 1 }
        }
        return applications.sorted { $0.key < $1.key }.map { id, application in
            .init(
                entitlement: id,
                versions: application.versions.compactMap(EntitlementVersion.init).sorted().map(\.description),
                users: entitled[id] ?? 0, servers: owned[id] ?? 0)
        }
    }

    /// By server and application.
    var serverEntries: [AdministrationCommand.ServerEntry] {
        servers.map { server in
            .init(
                endpoint: server.endpoint, entitlement: server.application,
                priority: server.application == nil ? nil : server.priority, route: "\(server.route)",
                secondary: server.secondary, address: server.address)
        }
    }

    /// The domains, then the networks; the default is last, as it is when a route is decided.
    var routeEntries: [AdministrationReply.RouteEntry] {
        let rules = domains.sorted { $0.key < $1.key }.map(Self.entry)
        let networks = deniedNetworks.sorted().map { network in
            AdministrationReply.RouteEntry(domain: "\(network)", route: "\(Route.deny)", ports: nil)
        }
        return rules + networks + [Self.entry("default", defaultRoute)]
    }

    private static func entry(_ name: String, _ rule: Domain) -> AdministrationReply.RouteEntry {
        .init(domain: name, route: "\(rule.route)", secondary: rule.secondary, ports: rule.ports.sorted())
    }
}
