package import SallyportCore
package import SallyportTransport

/// What the connector sends requests with and opens tunnels by: `Transport`, or a test's stand-in for it.
package protocol ExchangeClient: Sendable {
    func exchange(_ request: ExchangeRequest, via path: ConnectionPath) async throws(LoadError) -> ExchangeResponse
    func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel
    /// Lets no new exchange use the connections of these paths.
    func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Ends the exchanges of these paths with `failure`, those whose body streams included.
    func endExchanges(with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Does to all of them what a change of access asks for: ends them, or those that the new rules refuse.
    func follow(_ change: AccessChange, of gate: any AccessGate)
    func shutdown() async
}

extension Transport: ExchangeClient {}
