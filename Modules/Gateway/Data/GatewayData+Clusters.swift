internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

extension GatewayData {
    /// The relays that belong to clusters by themselves: those of the fleet's gateways, unless their role leaves that
    /// to others, and those on machines of their own that have told where they listen. One that cannot be reached stays among them: apps
    /// take another one.
    func ownRelays() throws -> [String: [Endpoint]] {
        var clusters = [Route.mainCluster: try settings.relays(of: gateways)]
        for relay in relays.relays {
            guard let port = relay.port else { continue }
            clusters[relay.cluster, default: []].append(try Endpoint(host: Host(relay.name), port: port))
        }
        return clusters
    }
}

extension ConfigurationBuilder {
    /// The relays of a cluster: those that the administrator has declared, and those that belong to it by themselves.
    static func relays(declared: [Directory.Relay], own: [Endpoint]) throws -> [(endpoint: Endpoint, priority: Int)] {
        let declared = try declared.map { (endpoint: try Endpoint($0.endpoint), priority: $0.priority) }
        let others = own.filter { endpoint in !declared.contains { $0.endpoint == endpoint } }
        let all = declared + others.map { (endpoint: $0, priority: 1) }
        return Array(all.prefix(ConfigurationDocument.Limits.relays))
    }
}
