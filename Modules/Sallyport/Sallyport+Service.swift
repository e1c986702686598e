internal import SallyportAuthorization
public import ServiceLifecycle

extension Sallyport: Service {
    /// Does the background work: receives policy changes, keeps the lease, renews the certificate, and checks whether
    /// the gateway is reachable.
    ///
    /// It opens nothing before ``authorize()``, but carries out withdrawals, and opens again when one is lifted.
    ///
    /// Returns after a graceful shutdown, when everything in this instance has shut down; throws `CancellationError` if
    /// the task was cancelled instead. Without it the app works within the lease, and learns of changes only from
    /// ``authorize()``.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            async let looking: Void = self.reachability.run()
            await self.authorization.run()
            self.reachability.shutdown()
            await looking
        }
        await shutdown()
        if !Task.isShuttingDownGracefully { try Task.checkCancellation() }
    }
}
