internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

// The directory in the form in which apps are told of it.
extension Directory {
    /// Enters what all apps are told alike, apart from servers and clusters.
    func tell(_ document: inout ConfigurationDocument) throws {
        document.domains = domains.sorted { $0.key < $1.key }.map {
            .init($0.key, route: $0.value.route, ports: $0.value.ports.sorted(), secondary: $0.value.secondary)
        }
        document.deniedNetworks = deniedNetworks.sorted()
        document.defaultRoute = .init(
            route: defaultRoute.route, ports: defaultRoute.ports.sorted(), secondary: defaultRoute.secondary)
        document.defaultDomains = defaultDomains
        document.tls = .init(blocked: blockedTLS.sorted(), floor: tlsFloor)
        document.schemes = schemes.sorted()
        document.realms = try realms.sorted { $0.key < $1.key }.map { name, kdcs in
            .init(name, kdcs: try kdcs.map { try Endpoint($0) })
        }
    }
}

extension ConfigurationDocument.Server {
    init(_ server: Directory.Server) throws {
        self.init(
            try Endpoint(server.endpoint), priority: server.priority, route: server.route,
            isApplicationServer: server.application != nil, secondary: server.secondary)
    }
}
