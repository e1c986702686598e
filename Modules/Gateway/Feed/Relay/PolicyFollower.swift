/// What judges by the policy of a feed: the relay of this process, or the guard of a foreign one.
protocol PolicyFollower: Sendable {
    /// The policy has changed, and already uses the new rules: everything that is open is judged again.
    func policyChanged()

    /// Returns once everything that was open at the call has been judged.
    func settled() async

    /// Whether tunnels may stay open that the policy no longer allows. Asked after ``settled()``.
    var leavesTunnelsOpen: Bool { get async }

    /// The relay's certificate, or the authorities of instances, have changed.
    ///
    /// - Throws: `invalid` if they cannot be used; then nothing is changed.
    func use(_ identity: RelayIdentity, trust: [[UInt8]]) throws(GatewayError)
}

extension Relay: PolicyFollower {
    /// The tunnels are of this process: each one that is no longer allowed ends.
    nonisolated var leavesTunnelsOpen: Bool { false }
}

extension GuardService: PolicyFollower {
    /// A guard has no listener with TLS; its policy reads certificates by the authorities that are in force.
    func use(_ identity: RelayIdentity, trust: [[UInt8]]) {}
}
