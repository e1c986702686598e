package import SallyportCore
internal import SallyportLoading

/// What connections must have in common to be shared: the key of a pool.
///
/// A connection made on one path never serves a request on another, so identity, trust, relay and principal cannot
/// leak from one into the other.
package struct ConnectionPath: Sendable {
    /// The relays, and what is shown to them; nil for a direct connection.
    package var relay: RelayAccess?
    /// The versions of TLS with the server.
    package var versions: TLSVersions
    /// The authorities that may have issued the server's certificate.
    package var trust: TrustAnchors
    /// By host: the keys of which the server's chain must have one, besides being issued as ``trust`` says.
    package var pins: [Host: Set<PublicKeyPin>]
    /// What is done with the chain that a server shows.
    package var decision: TrustDecision
    /// What is asked about certificates that were withdrawn.
    package var revocation: RevocationRules
    /// The client certificate for the server; nil if none is shown.
    package var identity: ClientIdentity?
    /// Whether a server that asks for a certificate ends the handshake, with ``CertificateRequest`` as the failure's
    /// underlying error, because the certificate was not chosen yet.
    package var asksForIdentity: Bool
    /// ``versions`` are offered because a handshake with higher ones failed, which the server is told (RFC 7507).
    package var isFallback: Bool
    /// Whether the server's certificate must be for its host: always but for a socket for which the app says otherwise.
    package var checksHost = true
    package var partition: ConnectionPartition
    /// The Unix socket that takes the connections of all hosts of the path; nil for those of the network. Never with
    /// a relay.
    package var socket: String?
    /// The addresses to which no connection is made; nil if no policy was asked, and with a relay, which judges them
    /// itself.
    package var addresses: AddressRules?
    /// The proxy of a direct connection; never with a relay or a socket.
    package var proxy: ProxyAccess?
    /// The owner that has the path's connection to itself (``BoundConnection/number``): one at most, HTTP/1.1. Nil for
    /// paths whose exchanges share connections.
    package var owner: UInt64?

    /// Whether nothing of ours lies between: neither a relay nor a proxy.
    var isDirect: Bool { relay == nil && proxy == nil }

    package init(
        relay: RelayAccess? = nil, versions: TLSVersions = .standard, trust: TrustAnchors = .system,
        pins: [Host: Set<PublicKeyPin>] = [:], decision: TrustDecision = .verification,
        revocation: RevocationRules = RevocationRules(), identity: ClientIdentity? = nil,
        asksForIdentity: Bool = false, isFallback: Bool = false, partition: ConnectionPartition = ConnectionPartition(),
        socket: String? = nil,
        proxy: ProxyAccess? = nil
    ) {
        self.relay = relay
        self.versions = versions
        self.trust = trust
        self.pins = pins
        self.decision = decision
        self.revocation = revocation
        self.identity = identity
        self.asksForIdentity = asksForIdentity
        self.isFallback = isFallback
        self.partition = partition
        self.socket = socket
        self.proxy = proxy
    }
}

extension ConnectionPath: Hashable {
    /// Hashes little, since this stands on the path of each request: certificates and keys are only compared, which
    /// costs nothing where both sides are copies of one value.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(partition)
        hasher.combine(socket)
        hasher.combine(owner)
        hasher.combine(proxy?.proxy.endpoint)
        hasher.combine(relay?.cluster)
        hasher.combine(relay?.identity.certificates.first?.last)
        hasher.combine(identity?.certificates.first?.last)
    }

    /// Written by hand, with cheap comparisons first, since this runs for each request. Connections made under other
    /// rules for addresses are not equal and serve no request, so they need not be judged again.
    package static func == (one: ConnectionPath, other: ConnectionPath) -> Bool {
        one.partition == other.partition && one.owner == other.owner && one.versions == other.versions
            && one.checksHost == other.checksHost
            && one.asksForIdentity == other.asksForIdentity && one.isFallback == other.isFallback
            && one.socket == other.socket && one.relay == other.relay && one.proxy == other.proxy
            && one.decision == other.decision && one.identity == other.identity && one.trust == other.trust
            && one.pins == other.pins && one.revocation == other.revocation && one.addresses == other.addresses
    }
}
