internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

extension GatewayData {
    /// The relays that belong to clusters by themselves: those of the fleet's gateways, unless their role leaves that
    /// to others, and those on machines of their own that have told where they listen. One that cannot be reached stays among them: apps
    /// take another one. The relays of silent gateways come last.
    func ownRelays() throws -> [String: [Endpoint]] {
        let all = try settings.relays(of: gateways)
        let others = try settings.relays(of: gateways.filter { !silentGateways.contains($0.id) })
        var clusters = [Route.mainCluster: others]
        for relay in relays.relays {
            guard let port = relay.port else { continue }
            clusters[relay.cluster, default: []].append(try Endpoint(host: Host(relay.name), port: port))
        }
        clusters[Route.mainCluster, default: []] += all.filter { !others.contains($0) }
        return clusters
    }
}

extension ConfigurationBuilder {
    /// The relays of a cluster: those that the administrator has declared, and those that belong to it by themselves.
    /// If there are more than apps can be told of, which ``ClusterPlaces`` prevents as far as it can, the last ones are
    /// left out.
    static func relays(declared: [Directory.Relay], own: [Endpoint]) throws -> [(endpoint: Endpoint, priority: Int)] {
        let declared = try declared.map { (endpoint: try Endpoint($0.endpoint), priority: $0.priority) }
        let all = declared + own.map { (endpoint: $0, priority: 1) }
        // One that is declared twice takes one place.
        var known: Set<Endpoint> = []
        return Array(all.filter { known.insert($0.endpoint).inserted }.prefix(ClusterPlaces.limit))
    }
}
