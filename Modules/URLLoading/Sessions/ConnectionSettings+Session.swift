internal import SallyportConnecting
internal import SallyportCore
internal import SallyportTransport

extension ConnectionSettings {
    /// The settings that a session has for its connections.
    ///
    /// - Parameter hasPolicy: whether the session belongs to an instance, whose stages answer the challenges of
    ///   proxies.
    init(_ configuration: SessionConfiguration, tag: String, hasPolicy: Bool) {
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
        tellsProxiesAtOnce = !hasPolicy
    }
}
