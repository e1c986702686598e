/// What is known of a connection that is open or is being opened: enough to judge it by the rules in force at a later
/// moment.
package struct OpenConnection: Sendable, Hashable {
    package let endpoint: Endpoint
    /// The cluster of relays that it uses; nil for a direct connection.
    package let cluster: String?
    /// The relay of the cluster; nil if it is not known, or not chosen yet.
    package let relay: Endpoint?
    /// The authorities by which the relay was trusted, DER; empty if that is not known.
    package let authorities: [[UInt8]]
    /// The TLS version negotiated with the server; nil without TLS, and before the handshake.
    package var tlsVersion: TLSVersion?
    /// The address that a direct connection leads to, or its proxy's address. Nil before the connection is open, and
    /// for a relayed one: the relay judges addresses itself.
    package let peer: Endpoint?
    /// Whether it may lead to an address only while a rule names that; see ``UnnamedAddress``.
    package let needsRule: Bool

    package init(
        to endpoint: Endpoint, through cluster: String?, relay: Endpoint? = nil, trustedBy authorities: [[UInt8]] = [],
        tlsVersion: TLSVersion?, peer: Endpoint? = nil, needsRule: Bool = false
    ) {
        self.peer = peer
        self.needsRule = needsRule
        self.endpoint = endpoint
        self.cluster = cluster
        self.relay = relay
        self.authorities = authorities
        self.tlsVersion = tlsVersion
    }
}

extension AccessGate {
    /// Judges an open connection as a new one would be: by the route, cluster, relay, ports and TLS versions that the
    /// policy now allows.
    ///
    /// - Returns: why the connection must end: `refusedByPolicy`, `withdrawn` or `notAuthorized`; nil if it may stay.
    package func judge(_ open: OpenConnection) -> LoadError? {
        let access: ServerAccess
        do throws(AccessDenied) {
            access = try self.access(to: open.endpoint)
        } catch {
            return LoadError(error)
        }
        if open.needsRule, let unnamed = access.decision.unnamedAddress { return LoadError(unnamed) }
        if access.relay == nil, open.cluster == nil { return judge(open, by: access.decision) }
        let clusters = [access.relay, access.secondary].compactMap(\.self)
        guard let cluster = clusters.first(where: { $0.cluster == open.cluster }) else {
            return LoadError(.refusedByPolicy, at: .routing, "The policy now says: \(access.decision).")
        }
        if let refusal = cluster.refusal(of: open) { return refusal }
        guard let version = open.tlsVersion else { return nil }
        guard TLSVersions([version]).restricted(blocking: access.blockedTLSVersions, floor: access.tlsFloor).isEmpty
        else { return nil }
        return LoadError(
            .refusedByPolicy, at: .routing, "The policy no longer allows \(version) with \(open.endpoint).")
    }

    private func judge(_ open: OpenConnection, by decision: RouteDecision) -> LoadError? {
        guard let peer = open.peer, case .address(let address) = peer.host,
            let rule = decision.addresses.denial(of: address, port: peer.port, for: open.endpoint)
        else { return nil }
        return LoadError(
            AccessDenied(
                .denied(
                    RouteDecision(endpoint: open.endpoint, route: .deny, rule: rule, addresses: decision.addresses))))
    }
}

extension RelayAccess {
    /// Why a connection through a relay of this cluster must end: the cluster has lost that relay, or trusts none of the
    /// authorities any more by which the relay was trusted.
    fileprivate func refusal(of open: OpenConnection) -> LoadError? {
        if let relay = open.relay, !relays.contains(where: { $0.endpoint == relay }) {
            return LoadError(
                .refusedByPolicy, at: .routing, "The relay \(relay) is not one of the cluster \(cluster) any more.")
        }
        guard !open.authorities.isEmpty, Set(open.authorities).isDisjoint(with: authorities) else { return nil }
        return LoadError(
            .refusedByPolicy, at: .routing, "The cluster \(cluster) now has other authorities for its relays.")
    }
}
