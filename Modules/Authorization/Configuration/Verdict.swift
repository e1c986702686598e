internal import SallyportCore
internal import SallyportWire

/// What follows from a configuration, from what was decided here, and from the time.
enum Verdict {
    static func state(
        of document: ConfigurationDocument, decisions: LocalDecisions, at time: Int64
    ) -> AuthorizationState {
        switch document.status {
        case .wiped: return .wiped(.wiped)
        case .denied: return .wiped(.appDenied)
        case .blocked, .locked: return .locked(lockCode(of: document))
        case .active: break
        }
        if decisions.isLocked { return .locked(.remoteLockout) }
        return time < document.leaseEnd ? .authorized : .locked(.blocked)
    }

    /// -104 comes only with the status that wipes; a code that is none of a lock's is read as the plain block.
    private static func lockCode(of document: ConfigurationDocument) -> ResultCode {
        switch document.code {
        case .remoteLockout, .appVersionNotEntitled, .idleLockout, .passwordChangeRequired: document.code
        default: document.status == .locked ? .remoteLockout : .blocked
        }
    }

    /// Which documented events a change of configuration makes.
    static func changes(
        from old: ConfigurationDocument?, to new: ConfigurationDocument
    ) -> [AuthorizationEvent.Kind] {
        guard let old else { return [] }
        var kinds: [AuthorizationEvent.Kind] = []
        if ApplicationConfiguration(old) != ApplicationConfiguration(new) { kinds.append(.remoteSettingsUpdate) }
        if old.servers != new.servers || old.domains != new.domains || old.defaultRoute != new.defaultRoute
            || old.deniedNetworks != new.deniedNetworks || old.clusters != new.clusters
        {
            kinds.append(.servicesUpdate)
        }
        if old.policy != new.policy { kinds.append(.policyUpdate) }
        if old.entitlements != new.entitlements { kinds.append(.entitlementsUpdate) }
        return kinds
    }
}
