/// What is known of a connection that is open or is being opened: enough to judge it by the rules in force at a later
/// moment.
package struct OpenConnection: Sendable, Hashable {
    package let endpoint: Endpoint
    /// The cluster of relays that it uses; nil for a direct connection.
    package let cluster: String?
    /// The TLS version negotiated with the server; nil without TLS, and before the handshake.
    package let tlsVersion: TLSVersion?
    /// The address that a direct connection leads to, or its proxy's address. Nil before the connection is open, and
    /// for a relayed one: the relay judges addresses itself.
    package let peer: Endpoint?

    package init(
        to endpoint: Endpoint, through cluster: String?, tlsVersion: TLSVersion?, peer: Endpoint? = nil
    ) {
        self.peer = peer
        self.endpoint = endpoint
        self.cluster = cluster
        self.tlsVersion = tlsVersion
    }
}

extension AccessGate {
    /// Judges an open connection as a new one would be: by the route, cluster, ports and TLS versions that the policy
    /// now allows.
    ///
    /// - Returns: why the connection must end: `refusedByPolicy`, `withdrawn` or `notAuthorized`; nil if it may stay.
    package func judge(_ open: OpenConnection) -> LoadError? {
        let access: ServerAccess
        do throws(AccessDenied) {
            access = try self.access(to: open.endpoint)
        } catch {
            return LoadError(error)
        }
        let isOfSecondary = open.cluster != nil && open.cluster == access.secondary?.cluster
        guard access.relay?.cluster == open.cluster || isOfSecondary else {
            return LoadError(.refusedByPolicy, at: .routing, "The policy now says: \(access.decision).")
        }
        guard access.relay != nil else { return judge(open, by: access.decision) }
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
