internal import SallyportCore
package import SallyportLoading

extension URLLoadingSystem {
    /// Streams of bytes by the policy of the instance and with the settings of its own session. Does not keep the instance.
    package var tunnels: any RoutedTunnels { InstanceTunnels(self) }
}

/// Those of the session of the moment: it is another after each `authorize()`.
private final class InstanceTunnels: RoutedTunnels {
    private weak let loading: URLLoadingSystem?

    init(_ loading: URLLoadingSystem) { self.loading = loading }

    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        guard let loading else {
            throw LoadError(.sessionInvalidated, at: .routing, "The instance is gone.")
        }
        return try await loading.session.tunnels.open(request)
    }
}
