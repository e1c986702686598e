internal import SallyportConnecting
internal import SallyportCore
internal import SallyportTransport

extension ConnectionSettings {
    /// What a session's settings say about its connections.
    init(_ configuration: SessionConfiguration, tag: String, _ kind: SecureSession.Kind) {
        self.init(scope: .session(tag), principal: configuration.principal)
        minimumTLSVersion = configuration.minimumTLSVersion
        maximumTLSVersion = configuration.maximumTLSVersion
        trust = configuration.trust.anchors
        pins = configuration.pins
        revocation = configuration.revocation.rules
        identities = configuration.clientIdentities
        proxies = configuration.proxies
        allowsBasicOverPlainHTTP = configuration.allowsBasicOverPlainHTTP
        connectTimeout = configuration.connectTimeout
        connectionsPerOrigin = configuration.connectionsPerOrigin
        if case .system = kind { tellsProxiesAtOnce = true }
    }
}
