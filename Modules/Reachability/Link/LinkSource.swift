package import SallyportAuthorization
package import SallyportCore
package import SallyportLoading

/// The connection to the gateway that ``LinkWatch`` observes.
package protocol LinkSource: Sendable {
    /// The states of the event stream.
    func channelChanges() -> AsyncStream<ControlChannel>
    func callChannel(drops: Bool)
    /// Sends a probe to the gateway.
    ///
    /// - Parameter isStreamInDoubt: whether the event stream is open, and nothing comes over it.
    func probe(within limit: Duration, isStreamInDoubt: Bool) async throws(LoadError) -> ConnectionFacts?
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
