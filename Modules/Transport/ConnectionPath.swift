package import SallyportCore
internal import SallyportLoading

/// The properties that connections must have in common to be shared: the key of a pool.
///
/// A connection made on one path never serves a request on another, so identity, trust, relay and principal cannot
/// leak from one into the other.
///
/// One reference with its hash: requests pass it from stage to loop and find their pool by it. Parts that are built
/// once are compared by identity; a change creates another path.
package struct ConnectionPath: Sendable {
    private var shared: Shared

    package init(
        relay: RelayAccess? = nil, versions: TLSVersions = .standard, trust: TrustAnchors = .system,
        pins: [Host: Set<PublicKeyPin>] = [:], decision: TrustDecision = .verification,
        revocation: RevocationRules = RevocationRules(), identity: ClientIdentity? = nil,
        asksForIdentity: Bool = false, isFallback: Bool = false, partition: ConnectionPartition = ConnectionPartition(),
        socket: String? = nil, proxy: ProxyAccess? = nil, checksHost: Bool = true, addresses: AddressRules? = nil
    ) {
        shared = Shared(
            Parts(
                relay: relay, versions: versions, trust: trust, pins: pins, decision: decision, revocation: revocation,
                identity: identity, asksForIdentity: asksForIdentity, isFallback: isFallback, checksHost: checksHost,
                partition: partition, socket: socket, addresses: addresses, proxy: proxy, owner: nil))
    }

    /// Whether the connection is direct: neither through a relay nor through a proxy.
    var isDirect: Bool { shared.isDirect }

    /// Whether both are copies of one value. Equal ones may not be.
    func isIdentical(to other: ConnectionPath) -> Bool { shared === other.shared }
}

// MARK: Parts

extension ConnectionPath {
    fileprivate struct Parts: Sendable {
        var relay: RelayAccess?
        var versions: TLSVersions
        var trust: TrustAnchors
        var pins: [Host: Set<PublicKeyPin>]
        var decision: TrustDecision
        var revocation: RevocationRules
        var identity: ClientIdentity?
        var asksForIdentity: Bool
        var isFallback: Bool
        var checksHost: Bool
        var partition: ConnectionPartition
        var socket: String?
        var addresses: AddressRules?
        var proxy: ProxyAccess?
        var owner: UInt64?
    }

    private final class Shared: Sendable {
        let parts: Parts
        let hash: Int
        /// Asked by each request; the relay would be copied.
        let isDirect: Bool

        init(_ parts: Parts) {
            self.parts = parts
            hash = parts.hashValue
            isDirect = parts.relay == nil && parts.proxy == nil
        }
    }

    private mutating func change(_ change: (inout Parts) -> Void) {
        var parts = shared.parts
        change(&parts)
        shared = Shared(parts)
    }

    /// The relays, and the identity for them; nil for a direct connection.
    package var relay: RelayAccess? {
        get { shared.parts.relay }
        set { change { $0.relay = newValue } }
    }

    /// The versions of TLS with the server.
    package var versions: TLSVersions {
        get { shared.parts.versions }
        set { change { $0.versions = newValue } }
    }

    /// The authorities that may have issued the server's certificate.
    package var trust: TrustAnchors {
        get { shared.parts.trust }
        set { change { $0.trust = newValue } }
    }

    /// The pinned keys of each host, one of which the server's chain must contain, in addition to the check by
    /// ``trust``.
    package var pins: [Host: Set<PublicKeyPin>] {
        get { shared.parts.pins }
        set { change { $0.pins = newValue } }
    }

    /// What happens with the chain that a server presents.
    package var decision: TrustDecision {
        get { shared.parts.decision }
        set { change { $0.decision = newValue } }
    }

    /// The checks for revoked certificates.
    package var revocation: RevocationRules {
        get { shared.parts.revocation }
        set { change { $0.revocation = newValue } }
    }

    /// The client certificate for the server; nil for none.
    package var identity: ClientIdentity? {
        get { shared.parts.identity }
        set { change { $0.identity = newValue } }
    }

    /// Whether a server that requests a certificate ends the handshake, with ``CertificateRequest`` as the failure's
    /// underlying error, because the certificate was not chosen yet.
    package var asksForIdentity: Bool {
        get { shared.parts.asksForIdentity }
        set { change { $0.asksForIdentity = newValue } }
    }

    /// ``versions`` are offered because a handshake with higher ones failed; the server is told so (RFC 7507).
    package var isFallback: Bool {
        get { shared.parts.isFallback }
        set { change { $0.isFallback = newValue } }
    }

    /// Whether the server's certificate must match its host: always, except for a socket whose app has disabled it.
    package var checksHost: Bool {
        get { shared.parts.checksHost }
        set { change { $0.checksHost = newValue } }
    }

    package var partition: ConnectionPartition {
        get { shared.parts.partition }
        set { change { $0.partition = newValue } }
    }

    /// The Unix socket that takes the connections of all hosts of the path; nil for those of the network. Never with
    /// a relay.
    package var socket: String? {
        get { shared.parts.socket }
        set { change { $0.socket = newValue } }
    }

    /// The addresses to which no connection is made; nil if no policy was asked, and with a relay, which judges them
    /// itself.
    package var addresses: AddressRules? {
        get { shared.parts.addresses }
        set { change { $0.addresses = newValue } }
    }

    /// The proxy of a direct connection; never with a relay or a socket.
    package var proxy: ProxyAccess? {
        get { shared.parts.proxy }
        set { change { $0.proxy = newValue } }
    }

    /// The owner that has the path's connection for itself (``BoundConnection/number``): at most one, HTTP/1.1. Nil for
    /// paths whose exchanges share connections.
    package var owner: UInt64? {
        get { shared.parts.owner }
        set { change { $0.owner = newValue } }
    }
}

// MARK: Equality

extension ConnectionPath: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(shared.hash) }

    package static func == (one: ConnectionPath, other: ConnectionPath) -> Bool {
        one.shared === other.shared || one.shared.parts == other.shared.parts
    }
}

extension ConnectionPath.Parts: Hashable {
    /// Hashes little: certificates and keys are only compared, which costs nothing if both sides are copies of one
    /// value.
    func hash(into hasher: inout Hasher) {
        hasher.combine(partition)
        hasher.combine(socket)
        hasher.combine(owner)
        hasher.combine(proxy?.proxy.endpoint)
        hasher.combine(relay?.cluster)
        hasher.combine(relay?.identity.certificates.first?.last)
        hasher.combine(identity?.certificates.first?.last)
    }

    /// Cheap comparisons first. Connections made under other rules for addresses are not equal and serve no request, so
    /// they need not be judged again.
    static func == (one: Self, other: Self) -> Bool {
        one.partition == other.partition && one.owner == other.owner && one.versions == other.versions
            && one.checksHost == other.checksHost
            && one.asksForIdentity == other.asksForIdentity && one.isFallback == other.isFallback
            && one.socket == other.socket && one.relay == other.relay && one.proxy == other.proxy
            && one.decision == other.decision && one.identity == other.identity && one.trust == other.trust
            && one.pins == other.pins && one.revocation == other.revocation && one.addresses == other.addresses
    }
}

/// Shows the properties, not how they are stored.
extension ConnectionPath: CustomReflectable {
    package var customMirror: Mirror { Mirror(reflecting: shared.parts) }
}
