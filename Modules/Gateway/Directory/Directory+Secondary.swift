internal import SallyportCore
internal import SallyportLoading

// Which clusters rules use.
extension Directory {
    /// Checks that the clusters of a rule are there, and that the second is another one than the first.
    func checkClusters(_ route: Route, _ secondary: String?) throws(GatewayError) {
        if case .relay(let name) = route { try checkCluster(name) }
        guard let secondary else { return }
        guard case .relay(let name) = route else {
            throw GatewayError(.invalid, "Only a route through relays has a secondary cluster.")
        }
        guard secondary != name else {
            throw GatewayError(.invalid, "The secondary cluster is another one than that of the route.")
        }
        guard Route.isClusterName(secondary) else {
            throw GatewayError(.invalid, "A secondary cluster is named as a route names it, without relay:.")
        }
        try checkCluster(secondary)
    }

    private func checkCluster(_ name: String) throws(GatewayError) {
        guard name != Route.mainCluster, clusters[name] == nil else { return }
        throw GatewayError(.notFound, "No cluster \(name) is set: `admin cluster set \(name) HOST:PORT` sets one.")
    }

    /// Whether a rule names a cluster, as its first or its second one.
    func isUsed(cluster name: String) -> Bool {
        let route = Route.relay(cluster: name)
        return servers.contains { $0.route == route || $0.secondary == name }
            || (domains.values + [defaultRoute]).contains { $0.route == route || $0.secondary == name }
    }
}
