internal import SallyportBase
package import SallyportCore

/// Tunnels of somebody who is made later than who uses them.
package final class LateTunnels: RoutedTunnels {
    private let tunnels = Lock<(any RoutedTunnels)?>(nil)

    package init() {}

    /// From now on. Whoever is behind it must not be held by who uses it.
    package func lead(through tunnels: any RoutedTunnels) { self.tunnels.withLock { $0 = tunnels } }

    package func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        guard let tunnels = tunnels.withLock({ $0 }) else {
            throw LoadError(.sessionInvalidated, at: .routing, "There are no sessions yet.")
        }
        return try await tunnels.open(request)
    }
}
