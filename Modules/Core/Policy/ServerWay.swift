/// How a server is reached under the policy at one moment: sessions and sockets ask for it before they connect.
package struct ServerWay: Sendable {
    package let decision: RouteDecision
    /// The relays of a relay route; never empty, since that would be a direct connection.
    package let relay: RelayAccess?
    /// The relays that stand in while none of ``relay`` can be reached; nil for none, never empty.
    package let secondary: RelayAccess?
    /// The versions that remain after the settings, the blocked versions and the minimum.
    package let versions: TLSVersions
    /// What the administrator forbids of the versions; nil for nothing, and if the route is direct.
    package let restriction: TLSRestriction?
    /// The number of the rules by which the way was decided.
    package let revision: UInt64
    /// See ``ServerAccess/edition``.
    package let edition: PolicyEdition?

    /// The same way through other relays of the cluster.
    package func through(_ relay: RelayAccess) -> ServerWay {
        ServerWay(
            decision: decision, relay: relay, secondary: nil, versions: versions, restriction: restriction,
            revision: revision, edition: edition)
    }

    /// The way through the secondary cluster, whose name the decision then has; nil if there is none.
    package var bySecondary: ServerWay? {
        guard let secondary, let decision = decision.bySecondary else { return nil }
        return ServerWay(
            decision: decision, relay: secondary, secondary: nil, versions: versions, restriction: restriction,
            revision: revision, edition: edition)
    }
}

extension AccessGate {
    /// The way to a server.
    ///
    /// - Parameter allowed: the TLS versions that the app's settings allow; the administrator's blocks and minimum take
    ///   precedence on relayed connections.
    /// - Throws: `notAuthorized`, `withdrawn`, `refusedByPolicy`, `relayUnreachable`, `noCommonTLSVersion`.
    package func way(
        to endpoint: Endpoint, isSecure: Bool, offering allowed: @autoclosure () -> TLSVersions
    ) throws(LoadError) -> ServerWay {
        let access = try admitted { () throws(AccessDenied) in try self.access(to: endpoint) }
        let relay = try access.reachableRelay()
        return ServerWay(
            decision: access.decision, relay: relay, secondary: access.secondary,
            versions: isSecure ? try access.versions(of: allowed()) : .standard, restriction: access.restriction,
            revision: access.revision, edition: access.edition)
    }

    /// Checks again once there is a connection: a change of rules between the first check and the start found no
    /// connection to end.
    ///
    /// Costs one atomic read, and the clocks of a lease, if nothing was published since.
    ///
    /// - Parameter open: the connection as it is now. Evaluated only if the rules have changed since.
    /// - Throws: `notAuthorized`, `withdrawn`, `refusedByPolicy`.
    package func confirm(_ way: ServerWay, _ open: @autoclosure () -> OpenConnection) throws(LoadError) {
        if let edition = way.edition, edition.isInForce { return }
        let revision = try admitted { () throws(AccessDenied) in try rulesRevision() }
        guard revision != way.revision, let refusal = judge(open()) else { return }
        throw refusal
    }

    /// ``checkAuthorized()`` for callers that throw `LoadError`.
    package func requireAuthorized() throws(LoadError) {
        try admitted { () throws(AccessDenied) in try checkAuthorized() }
    }

    private func admitted<Value>(_ ask: () throws(AccessDenied) -> Value) throws(LoadError) -> Value {
        do throws(AccessDenied) {
            return try ask()
        } catch {
            throw LoadError(error)
        }
    }
}

extension ServerAccess {
    fileprivate func reachableRelay() throws(LoadError) -> RelayAccess? {
        switch decision.route {
        case .direct: return nil
        case .deny: throw LoadError(AccessDenied(.denied(decision)))
        case .relay:
            guard let relay else {
                throw LoadError(.relayUnreachable, at: .routing, "The cluster of the route has no relay.")
            }
            return relay
        }
    }

    fileprivate var restriction: TLSRestriction? {
        relay == nil ? nil : TLSRestriction(blocking: blockedTLSVersions, floor: tlsFloor)
    }

    fileprivate func versions(of allowed: TLSVersions) throws(LoadError) -> TLSVersions {
        var versions = allowed
        let restriction = restriction
        if let restriction {
            versions = versions.restricted(blocking: restriction.blocked, floor: restriction.floor)
        }
        guard !versions.isEmpty else {
            let reason = restriction.map { " \($0)" } ?? ""
            throw LoadError(
                .noCommonTLSVersion, at: .routing, "Settings and policy leave no version of TLS to offer.\(reason)")
        }
        return versions
    }
}
