internal import SallyportBase
package import SallyportCore

/// Tunnels of somebody who is made later than who uses them.
package final class LateTunnels: RoutedTunnels {
    private let tunnels = SetOnce<any RoutedTunnels>()

    package init() {}

    /// From now on; the first call counts. Whoever is behind it must not be held by who uses it.
    package func lead(through tunnels: any RoutedTunnels) { self.tunnels.set(tunnels) }

    package func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        guard let tunnels = tunnels.value else {
            throw LoadError(.sessionInvalidated, at: .routing, "There are no sessions yet.")
        }
        return try await tunnels.open(request)
    }
}
