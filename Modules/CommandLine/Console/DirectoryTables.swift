import SallyportCore
import SallyportGateway

/// What the lists of `admin` print for people. A hyphen stands for what an entry does not have.
enum DirectoryTables {
    static func table(of entries: [AdministrationReply.ApplicationEntry]) -> String {
        guard !entries.isEmpty else { return "no app is added" }
        var table = Table(["ENTITLEMENT", "VERSIONS", "USERS", "SERVERS"])
        for entry in entries {
            table.append([
                entry.entitlement, entry.versions.joined(separator: ", "), "\(entry.users)", "\(entry.servers)",
            ])
        }
        return table.text
    }

    static func table(of entries: [AdministrationCommand.ServerEntry]) -> String {
        guard !entries.isEmpty else { return "no server is listed" }
        var table = Table(["SERVER", "APP", "PRIORITY", "ROUTE", "ADDRESS"])
        for entry in entries {
            table.append([
                entry.endpoint, entry.entitlement ?? "-", entry.priority.map { "\($0)" } ?? "-",
                route(entry.route, entry.secondary), entry.address ?? "-",
            ])
        }
        return table.text
    }

    /// Never empty: there is always a default.
    static func table(of entries: [AdministrationReply.RouteEntry]) -> String {
        var table = Table(["DOMAIN", "ROUTE", "PORTS"])
        for entry in entries {
            let ports = entry.ports.map { $0.map { "\($0)" }.joined(separator: ",") }
            table.append([entry.domain, route(entry.route, entry.secondary), ports ?? "all"])
        }
        return table.text
    }

    private static func route(_ first: String, _ secondary: String?) -> String {
        secondary.map { "\(first), else \(Route.relay(cluster: $0))" } ?? first
    }

    /// Never empty: the gateway is a cluster itself.
    static func table(of entries: [AdministrationReply.ClusterEntry]) -> String {
        var table = Table(["CLUSTER", "RELAY", "PRIORITY", "AUTHORITY"])
        for entry in entries {
            let authority = entry.authorities.map { $0.map { "\($0.prefix(16))" }.joined(separator: ", ") }
            for relay in entry.relays {
                table.append([entry.name, relay.endpoint, "\(relay.priority)", authority ?? "the gateway's"])
            }
        }
        return table.text
    }
}
