package import SallyportCore
internal import SallyportLoading
package import SallyportTransport

/// What a session, or a socket, says about its connections.
package struct ConnectionSettings: Sendable {
    /// Which part of the app connects.
    package var scope: ConnectionPartition.Scope
    /// In whose name it connects if a request does not say.
    package var principal: Principal
    /// The bounds of the versions of TLS; nil where there is none.
    package var minimumTLSVersion: TLSVersion?
    package var maximumTLSVersion: TLSVersion?
    package var trust = TrustAnchors.system
    package var pins: [Host: Set<PublicKeyPin>] = [:]
    package var revocation = RevocationRules()
    /// What servers are shown that ask for a certificate.
    package var identities: [Host: ClientIdentity] = [:]
    /// Whether the server's certificate must be for its host.
    package var checksHost = true
    /// For streams of bytes; those of loads are in their context.
    package var proxies: ProxySettings = .none
    /// Whether such a proxy is told a password over a connection that others can read.
    package var allowsBasicOverPlainHTTP = false
    /// No stage answers the challenges of proxies: one that has a credential is told it with the request.
    package var tellsProxiesAtOnce = false
    package var connectTimeout = Duration.seconds(10)
    /// How long a server has to end its side of a stream after ours was ended.
    package var closeTimeout = Duration.seconds(5)
    package var connectionsPerOrigin = 6

    package init(scope: ConnectionPartition.Scope, principal: Principal = .instance) {
        self.scope = scope
        self.principal = principal
    }

    /// What is not verified.
    var disabledChecks: Set<VerificationCheck> {
        if trust == .unverified { return [.peer, .host] }
        return checksHost ? [] : [.host]
    }

    /// The connections of the scope and a principal.
    func path(of principal: Principal, by way: Way) -> ConnectionPath {
        let partition = ConnectionPartition(scope, principal: principal == self.principal ? nil : principal)
        var path = ConnectionPath(
            relay: way.relay, versions: way.versions, trust: trust, pins: pins, revocation: revocation,
            partition: partition)
        path.checksHost = checksHost
        if way.relay == nil { path.addresses = way.decision?.addresses }
        return path
    }
}
