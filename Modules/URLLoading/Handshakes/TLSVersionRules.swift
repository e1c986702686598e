internal import SallyportCore

/// Which versions of TLS a session offers to whom.
struct TLSVersionRules: Sendable {
    /// What the app's configuration adds.
    var control = ControlTLSVersions()
    /// The session's own bounds; nil where it has none.
    var minimum: TLSVersion?
    var maximum: TLSVersion?

    /// All that may be offered to a host: TLS 1.2 and 1.3, what was added for it, and what lies above the session's own
    /// minimum; within the bounds.
    func allowed(for host: Host) -> TLSVersions {
        let base = minimum == nil ? TLSVersions.standard.union(control.versions(for: host)) : .all
        return base.within(minimum, maximum)
    }
}

/// In which order versions are offered: TLS 1.2 and 1.3 first, and lower ones only where a handshake with those failed.
struct TLSVersionOffer: Sendable, Hashable {
    let first: TLSVersions
    /// What is offered after the first; nil where there is nothing.
    let fallback: TLSVersions?

    init(_ allowed: TLSVersions) {
        let standard = allowed.intersection(.standard)
        let lower = allowed.subtracting(.standard)
        first = standard.isEmpty ? lower : standard
        fallback = standard.isEmpty || lower.isEmpty ? nil : lower
    }
}
