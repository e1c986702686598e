package import SallyportAuthorization
package import SallyportCore
package import SallyportLoading

/// Who speaks with the gateway.
package protocol LinkSource: Sendable {
    /// How the event stream fares.
    func channelChanges() -> AsyncStream<ControlChannel>
    func callChannel(drops: Bool)
    /// Asks for a sign of life.
    func probe(within limit: Duration) async throws(LoadError) -> ConnectionFacts?
}

extension Authorization: LinkSource {}

extension LinkWatch.Ends {
    /// Nil where libcurl names no addresses.
    init?(_ connection: ConnectionFacts?) {
        guard let connection, let local = IPAddress(connection.localAddress),
            let remote = IPAddress(connection.remoteAddress)
        else { return nil }
        self.init(local: local, remote: remote)
    }
}
