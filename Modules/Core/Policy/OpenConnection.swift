/// What is known of a connection that stands, or is being made: enough to judge it by the rules of another moment.
package struct OpenConnection: Sendable, Hashable {
    package let endpoint: Endpoint
    /// The cluster of relays that it goes through; nil for a direct connection.
    package let cluster: String?
    /// What was agreed with the server; nil without TLS, and before the handshake.
    package let tlsVersion: TLSVersion?
    /// Where a direct connection leads; nil before there is one, and through a relay, which judges addresses itself.
    package let address: IPAddress?

    package init(
        to endpoint: Endpoint, through cluster: String?, tlsVersion: TLSVersion?, address: IPAddress? = nil
    ) {
        self.address = address
        self.endpoint = endpoint
        self.cluster = cluster
        self.tlsVersion = tlsVersion
    }
}

extension AccessGate {
    /// Judges what is open by the rule for what is new: route, cluster, ports, and TLS as the policy of this moment says.
    ///
    /// - Returns: why the connection must end: `refusedByPolicy`, `withdrawn` or `notAuthorized`; nil where it may stay.
    package func judge(_ open: OpenConnection) -> LoadError? {
        let access: ServerAccess
        do throws(AccessDenied) {
            access = try self.access(to: open.endpoint)
        } catch {
            return LoadError(error)
        }
        guard access.relay?.cluster == open.cluster else {
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
        guard let address = open.address,
            let rule = decision.addresses.denial(of: address, port: open.endpoint.port, for: open.endpoint)
        else { return nil }
        return LoadError(
            AccessDenied(
                .denied(
                    RouteDecision(endpoint: open.endpoint, route: .deny, rule: rule, addresses: decision.addresses))))
    }
}
