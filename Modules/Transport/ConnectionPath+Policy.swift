internal import SallyportCore

extension ConnectionPath {
    /// A connection of the path, for a policy's decision.
    ///
    /// - Parameter peer: the address that the connection leads to. It is not judged if no policy was asked for the
    ///   path, and with a relay, which judges addresses itself.
    func openConnection(
        to endpoint: Endpoint, by relay: Endpoint?, tlsVersion: TLSVersion?, peer: Endpoint? = nil
    ) -> OpenConnection {
        let access = self.relay
        return OpenConnection(
            to: endpoint, through: access?.cluster, relay: relay, trustedBy: access?.authorities ?? [],
            tlsVersion: tlsVersion, peer: addresses == nil ? nil : peer, needsRule: partition.scope.needsRule)
    }
}
