internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// A server address and the settings of the connection to it.
struct SocketTarget: Sendable {
    let endpoint: Endpoint
    let isSecure: Bool
    let configuration: SocketConfiguration

    /// The request for the connection; its lifetime begins at `start`.
    func request(from start: ContinuousClock.Instant) -> TunnelRequest {
        var request = TunnelRequest(to: endpoint, isSecure: isSecure)
        request.applicationProtocols = configuration.applicationProtocols
        request.idleTimeout = configuration.idleTimeout
        request.connectTimeout = configuration.connectTimeout
        request.deadline = configuration.lifetime.map { start + $0 }
        return request
    }

    /// The same target with the server's whole name, so that pins and certificates are for the name that is connected to.
    func completed(by gate: (any AccessGate)?) -> SocketTarget {
        SocketTarget(
            endpoint: gate?.completed(endpoint) ?? endpoint, isSecure: isSecure, configuration: configuration)
    }

    /// The same target without these checks.
    func disabling(_ checks: Set<VerificationCheck>) -> SocketTarget {
        var configuration = configuration
        configuration.disabled = checks
        return SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration)
    }

    var settings: ConnectionSettings {
        var settings = ConnectionSettings(scope: .sockets)
        settings.minimumTLSVersion = configuration.minimumTLSVersion
        settings.maximumTLSVersion = configuration.maximumTLSVersion
        settings.trust = configuration.disabled.contains(.peer) ? .unverified : configuration.trust.anchors
        settings.closeTimeout = configuration.closeTimeout
        settings.checksHost = !configuration.disabled.contains(.host)
        if let pins = configuration.pins { settings.pins = [endpoint.host: pins] }
        if let identity = configuration.clientIdentity { settings.identities = [endpoint.host: identity] }
        return settings
    }
}
