internal import SallyportCore

// The listeners without TLS.
extension ListenerSettings {
    /// The listener for metrics, on this machine only unless the administrator insists.
    func metricsAddress() throws(GatewayError) -> Gateway.MetricsListener? {
        guard var listener = configuration.metrics else { return nil }
        listener.host = try Self.localHost(
            listener.host, isInsecureAllowed: listener.isInsecureAllowed,
            or: "Metrics are told without TLS, so on this machine only, 127.0.0.1 or ::1, without --metrics-insecure.")
        return listener
    }

    /// The host of a listener without TLS.
    ///
    /// - Parameter message: says why a host that other machines can reach is refused.
    static func localHost(
        _ host: String, isInsecureAllowed: Bool, or message: String
    ) throws(GatewayError) -> String {
        // The name `localhost` could be made to resolve to another address.
        if host == "localhost" { return "127.0.0.1" }
        guard isInsecureAllowed || IPAddress(host)?.scope == .loopback else { throw GatewayError(.invalid, message) }
        return host
    }
}
