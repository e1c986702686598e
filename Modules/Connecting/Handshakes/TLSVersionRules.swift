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
