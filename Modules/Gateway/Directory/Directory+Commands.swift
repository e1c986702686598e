internal import SallyportCore
internal import SallyportLoading

extension Directory {
    /// Applies a command that changes the directory; returns whether the wiping of instances was confirmed.
    mutating func apply(_ command: AdministrationCommand) throws(GatewayError) -> Bool {
        switch command {
        case .addUser(let name): try addUser(name)
        case .addApplication(let id, let version): try addApplication(id, version: version)
        case .configureApplication(let id, let text): try configure(id, text: text)
        case .setPolicy(let id, let json): try setPolicy(id, json: json)
        case .setPrincipalName(let user, let name): try setPrincipalName(name, of: user)
        case .setLogging(let id, let isDetailed, let isKeptFromUsers):
            try setLogging(of: id, isDetailed: isDetailed, isKeptFromUsers: isKeptFromUsers)
        case .setExtraInfo(let id, let json): try setExtraInfo(json, of: id)
        case .setLease(let text): try setLease(text)
        case .entitle(let user, let id, let version): try entitle(user, to: id, version: version)
        case .removeUser(let name, let confirmed):
            try removeUser(name)
            return confirmed
        case .removeApplication(let id, let version, let confirmed):
            try removeApplication(id, version: version)
            return confirmed
        case .unentitle(let user, let id, let version, let confirmed):
            try unentitle(user, from: id, version: version)
            return confirmed
        default: try applyRouting(command)
        }
        return false
    }

    private mutating func applyRouting(_ command: AdministrationCommand) throws(GatewayError) {
        switch command {
        case .addServer(let entry):
            try addServer(
                Server(
                    endpoint: entry.endpoint, application: entry.entitlement, priority: entry.priority ?? 1,
                    route: Self.route(entry.route), address: entry.address, secondary: entry.secondary))
        case .removeServer(let endpoint): try removeServer(endpoint)
        case .setRoute(let name, let route, let ports, let secondary):
            let ports = ports.map(Set.init) ?? RoutingTable.defaultPorts
            try setRoute(name, Domain(route: Self.route(route), ports: ports, secondary: secondary))
        case .setDefaultDomains(let domains): try setDefaultDomains(domains)
        case .removeRoute(let name): try removeRoute(name)
        case .blockTLS(let version): blockedTLS.insert(try Self.tlsVersion(version))
        case .unblockTLS(let version): blockedTLS.remove(try Self.tlsVersion(version))
        case .setTLSFloor(let version): tlsFloor = try Self.tlsVersion(version)
        case .setCluster(let name, let relays, let authorities):
            try setCluster(
                name, relays.map { Relay(endpoint: $0.endpoint, priority: $0.priority) }, authorities: authorities)
        case .removeCluster(let name): try removeCluster(name)
        case .allowScheme(let name): try allowScheme(name)
        case .forbidScheme(let name): try forbidScheme(name)
        case .addRealm(let name, let kdc): try addRealm(name, kdc: kdc)
        case .removeRealm(let name): try removeRealm(name)
        default: throw GatewayError(.internalFailure, "The command does not change the directory.")
        }
    }
}
