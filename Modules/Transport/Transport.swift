package import Logging
package import SallyportCore
package import SallyportEventLoop

/// HTTP exchanges and byte tunnels, each over the connections of one ``ConnectionPath``.
///
/// Nothing of the environment has an effect: neither `http_proxy` and its kin nor `SSLKEYLOGFILE`. Redirects are not
/// followed, cookies not kept, credentials not looked up.
package final class Transport: Sendable {
    package init(loops: EventLoopGroup = .shared, logger: Logger = Logger(label: "sallyport.transport")) {}

    /// Sends a request and returns at the head of the answer.
    ///
    /// Cancelling the task ends the exchange, until the head is there; discarding the body ends it afterwards.
    ///
    /// - Throws: ``LoadError`` with the step that failed.
    package func exchange(
        _ request: ExchangeRequest, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse {
        throw LoadError(.internalFailure, "Not built yet.")
    }

    /// Opens a stream of bytes to a server.
    ///
    /// - Throws: ``LoadError`` with the step that failed.
    package func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel {
        throw LoadError(.internalFailure, "Not built yet.")
    }

    /// Lets no new exchange use the connections of these paths; exchanges and tunnels in flight go on.
    package func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool) {}

    /// Ends the exchanges and tunnels of these paths with `failure`, those whose body streams included: what a
    /// withdrawn authorization and an invalidated session do.
    package func endExchanges(
        with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool
    ) {}

    /// Ends every exchange and tunnel with ``LoadError/Code/sessionInvalidated`` and frees all connections.
    /// Idempotent; later exchanges throw the same.
    package func shutdown() async {}
}
