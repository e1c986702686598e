internal import SallyportCore
internal import SallyportWire

/// The relays of each cluster, of which apps are told up to a number: those that are declared, those of the fleet's
/// gateways, and those on machines of their own.
///
/// A value that one gateway makes of what it knows. If two gateways each add the last relay of a cluster at the same
/// time, there is one too many all the same: then one is left out of configurations, and logs say so.
struct ClusterPlaces: Sendable {
    /// Of one cluster.
    static let limit = ConfigurationDocument.Limits.relays

    private let directory: Directory
    private let relays: RelayTable
    private let gateways: Set<Endpoint>

    /// - Parameter gateways: the relays of gateways.
    init(_ directory: Directory, _ relays: RelayTable, gateways: Set<Endpoint>) {
        (self.directory, self.relays, self.gateways) = (directory, relays, gateways)
    }

    func with(_ directory: Directory) -> ClusterPlaces {
        ClusterPlaces(directory, relays, gateways: gateways)
    }

    func with(_ relays: RelayTable) -> ClusterPlaces {
        ClusterPlaces(directory, relays, gateways: gateways)
    }

    /// The clusters with more relays than the limit, and how many they have.
    var crowded: [String: Int] {
        var crowded: [String: Int] = [:]
        for name in Array(directory.clusters.keys) + [Route.mainCluster] {
            let taken = count(in: name)
            if taken > Self.limit { crowded[name] = taken }
        }
        return crowded
    }

    /// How many relays a cluster has.
    private func count(in cluster: String) -> Int {
        let declared = Set((directory.clusters[cluster] ?? []).compactMap { try? Endpoint($0.endpoint) })
        var known = declared
        if cluster == Route.mainCluster { known.formUnion(gateways) }
        var others = 0
        for relay in relays.relays where relay.cluster == cluster {
            guard let host = try? Host(relay.name) else { continue }
            if let port = relay.port, let endpoint = try? Endpoint(host: host, port: port) {
                known.insert(endpoint)
            } else if !declared.contains(where: { $0.host == host }) {
                // It has not told its port yet. One whose host is declared, such as a guard, will be that one.
                others += 1
            }
        }
        return known.count + others
    }

    /// - Parameter old: what is there before a change.
    /// - Throws: `invalid` if a cluster has more relays than the limit, and more than before.
    func check(after old: ClusterPlaces) throws(GatewayError) {
        let before = old.crowded
        let grown = crowded.sorted { $0.key < $1.key }.first { $0.value > before[$0.key] ?? Self.limit }
        guard let grown else { return }
        throw GatewayError(
            .invalid,
            "Cluster \(grown.key) would have \(grown.value) relays, those of gateways among them, and apps are told of "
                + "\(Self.limit) at most.")
    }
}

extension GatewayData {
    var places: ClusterPlaces {
        ClusterPlaces(directory, relays, gateways: Set((try? settings.relays(of: gateways)) ?? []))
    }

    /// Looks which gateways are silent, while apps cannot be told of all relays: those of silent gateways are left out
    /// first. Apps hear of it with their next configuration.
    ///
    /// - Returns: the clusters with too many relays, and how many they have.
    func lookAtCrowding() async throws -> [String: Int] {
        let crowded = places.crowded
        guard !crowded.isEmpty else {
            silentGateways = []
            return crowded
        }
        let (now, own) = (clock(), settings.id)
        let silent = try await store.gateways().filter { $0.record.id != own && !$0.isRunning(at: now) }
        silentGateways = Set(silent.map(\.record.id))
        return crowded
    }
}
