package import SallyportCore
internal import SallyportTransport

/// How a server is reached, according to the policy and the settings at one moment.
package struct Way: Sendable {
    /// The policy's answer; nil if there is no policy to ask.
    let answer: ServerWay?
    /// The versions offered to the server; the standard ones if the connection does not use TLS.
    package let versions: TLSVersions

    package var decision: RouteDecision? { answer?.decision }
    package var relay: RelayAccess? { answer?.relay }
    /// The way through the secondary cluster; nil if there is none.
    var bySecondary: Way? { answer?.bySecondary.map { Way(answer: $0, versions: versions) } }
    var restriction: TLSRestriction? { answer?.restriction }

    /// The names of the versions that are offered, the lowest first.
    package var versionNames: [String] { TLSVersion.allCases.filter(versions.contains).map { "\($0)" } }

    /// One way for each relay, in the order of their priorities, those of the secondary cluster last; the way itself if
    /// there is no relay.
    package var apart: [Way] {
        guard let answer, let relay = answer.relay else { return [self] }
        return relay.relays.sorted { $0.priority < $1.priority }.map { one in
            let alone = RelayAccess(
                cluster: relay.cluster, relays: [one], authorities: relay.authorities, identity: relay.identity)
            return Way(answer: answer.through(alone), versions: versions)
        } + (bySecondary?.apart ?? [])
    }
}

extension Connector {
    /// Asks the policy. No connection is made.
    ///
    /// - Throws: `notAuthorized`, `withdrawn`, `refusedByPolicy`, `relayUnreachable`, `noCommonTLSVersion`.
    package nonisolated func way(
        to endpoint: Endpoint, isSecure: Bool, with settings: ConnectionSettings
    ) throws(LoadError) -> Way {
        guard let gate else {
            let versions = isSecure ? allowedVersions(for: endpoint.host, settings) : .standard
            guard !versions.isEmpty else {
                throw LoadError(.noCommonTLSVersion, at: .routing, "The settings leave no version of TLS.")
            }
            return Way(answer: nil, versions: versions)
        }
        let answer = try gate.way(
            to: endpoint, isSecure: isSecure, offering: allowedVersions(for: endpoint.host, settings))
        if settings.scope.needsRule, let unnamed = answer.decision.unnamedAddress { throw LoadError(unnamed) }
        return Way(answer: answer, versions: answer.versions)
    }

    private nonisolated func allowedVersions(for host: Host, _ settings: ConnectionSettings) -> TLSVersions {
        control.allowed(for: host, from: settings.minimumTLSVersion, to: settings.maximumTLSVersion)
    }

    /// Asks again once there is a connection: an earlier change of policy had no connection to end.
    nonisolated func confirm(_ way: Way, _ open: @autoclosure () -> OpenConnection) throws(LoadError) {
        guard let gate, let answer = way.answer else { return }
        try gate.confirm(answer, open())
    }
}
