package import SallyportAuthorization
package import SallyportCore
package import SallyportLoading

/// The connection to the gateway that ``LinkWatch`` observes.
package protocol LinkSource: Sendable {
    /// The states of the event stream.
    func channelChanges() -> AsyncStream<ControlChannel>
    func callChannel(drops: Bool)
    /// Sends a probe to the gateway.
    func probe(within limit: Duration) async throws(LoadError) -> ConnectionFacts?
}

extension Authorization: LinkSource {}

extension LinkWatch.Ends {
    /// Nil if libcurl reports no addresses.
    init?(_ connection: ConnectionFacts?) {
        guard let connection, let local = IPAddress(connection.localAddress),
            let remote = IPAddress(connection.remoteAddress)
        else { return nil }
        self.init(local: local, remote: remote)
    }
}
