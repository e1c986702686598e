package import SallyportCore
package import SallyportLoading
package import SallyportTransport

/// The settings that a session or a socket has for its connections.
package struct ConnectionSettings: Sendable {
    /// Which part of the app connects.
    package var scope: ConnectionPartition.Scope
    /// The principal of connections whose request does not name one.
    package var principal: Principal
    /// The lowest and highest TLS version; nil for no bound.
    package var minimumTLSVersion: TLSVersion?
    package var maximumTLSVersion: TLSVersion?
    package var trust = TrustAnchors.system
    package var pins: [Host: Set<PublicKeyPin>] = [:]
    package var revocation = RevocationRules()
    /// The certificates to present to servers that ask for one.
    package var identities: [Host: ClientIdentity] = [:]
    /// Whether the server's certificate must match its host name.
    package var checksHost = true
    /// The proxies of byte streams; those of loads are in their context.
    package var proxies: ProxySettings = .none
    /// Whether such a proxy may be sent a password over an unencrypted connection.
    package var allowsBasicOverPlainHTTP = false
    /// Whether a proxy's credential is sent with the first request, since no stage answers challenges of proxies.
    package var sendsProxyCredentialsUnasked = false
    package var connectTimeout = Duration.seconds(10)
    /// How long a server may take to end its side of a stream after ours was ended.
    package var closeTimeout = Duration.seconds(5)
    package var connectionsPerOrigin = 6
    /// What lets connections be made and used; nil if they belong to no session.
    package var permission: (any SessionPermission)?

    package init(scope: ConnectionPartition.Scope, principal: Principal = .instance) {
        self.scope = scope
        self.principal = principal
    }

    /// The checks of the server's certificate that are switched off.
    var disabledChecks: Set<VerificationCheck> {
        if trust == .unverified { return [.peer, .host] }
        return checksHost ? [] : [.host]
    }

    /// The path of the connections for this scope and a principal.
    func path(of principal: Principal, by way: Way) -> ConnectionPath {
        let partition = ConnectionPartition(scope, principal: principal == self.principal ? nil : principal)
        return ConnectionPath(
            relay: way.relay, versions: way.versions, trust: trust, pins: pins, revocation: revocation,
            partition: partition, checksHost: checksHost,
            addresses: way.relay == nil ? way.decision?.addresses : nil)
    }
}
