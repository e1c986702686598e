internal import SallyportBase
package import SallyportCore

/// Tunnels that can be handed on before the object that opens them exists.
package final class LateTunnels: RoutedTunnels {
    private let tunnels = Lock<(any RoutedTunnels)?>(nil)

    package init() {}

    /// Uses these tunnels from now on. They must not hold a reference back to this object's users, which would be a
    /// cycle.
    package func lead(through tunnels: any RoutedTunnels) { self.tunnels.withLock { $0 = tunnels } }

    package func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        guard let tunnels = tunnels.withLock({ $0 }) else {
            throw LoadError(.sessionInvalidated, at: .routing, "There are no sessions yet.")
        }
        return try await tunnels.open(request)
    }
}
