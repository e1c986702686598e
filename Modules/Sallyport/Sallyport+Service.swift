internal import SallyportAuthorization
public import ServiceLifecycle

extension Sallyport: Service {
    /// Does the background work: listens for changes of the policy, keeps the lease, renews the certificate, and looks
    /// whether the gateway is within reach.
    ///
    /// Returns after graceful shutdown was triggered, once everything of this instance is shut down; throws
    /// `CancellationError` where the task was cancelled instead. Without it the app works within the lease, and
    /// learns of changes only by ``authorize()``.
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
