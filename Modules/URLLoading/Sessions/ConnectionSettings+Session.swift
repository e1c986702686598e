internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension ConnectionSettings {
    /// The settings that a session has for its connections.
    ///
    /// - Parameters:
    ///   - life: the session's, without which its connections are neither made nor used.
    ///   - hasPolicy: whether the session belongs to an instance, whose stages answer the challenges of proxies.
    init(_ configuration: SessionConfiguration, life: SessionLife, hasPolicy: Bool) {
        self.init(scope: .session(life.tag), principal: configuration.principal)
        permission = life
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
        sendsProxyCredentialsUnasked = !hasPolicy
    }
}
