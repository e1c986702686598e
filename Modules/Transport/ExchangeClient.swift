package import SallyportCore

/// What the connector uses to send requests and open tunnels: `Transport`, or a test's stand-in for it.
package protocol ExchangeClient: Sendable {
    func exchange(
        _ request: consuming ExchangeRequest, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse
    func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel
    /// Keeps new exchanges from using the existing connections of these paths.
    func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Ends the exchanges of these paths with `failure`, including those whose body is still being received.
    func endExchanges(with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Applies a change of access to all exchanges and tunnels: ends them, or those that the new rules refuse.
    func follow(_ change: AccessChange, of gate: any AccessGate)
    func shutdown() async
}

// In this module, so that a call by the protocol needs no coroutine beside the function's own.
extension Transport: ExchangeClient {}
