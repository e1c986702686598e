internal import SallyportCore
internal import SallyportWire

/// The conclusion from a configuration, the local decisions and the time.
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

    /// -104 comes only with the status of a wipe; a code that is not a lock's counts as a plain block.
    private static func lockCode(of document: ConfigurationDocument) -> ResultCode {
        switch document.code {
        case .remoteLockout, .appVersionNotEntitled, .idleLockout, .passwordChangeRequired: document.code
        default: document.status == .locked ? .remoteLockout : .blocked
        }
    }

    /// The events that a change of configuration causes.
    static func changes(
        from old: ConfigurationDocument?, to new: ConfigurationDocument
    ) -> [AuthorizationEvent.Kind] {
        guard let old else { return [] }
        var kinds: [AuthorizationEvent.Kind] = []
        if ApplicationConfiguration(old) != ApplicationConfiguration(new) { kinds.append(.remoteSettingsUpdate) }
        if old.servers != new.servers || old.domains != new.domains || old.defaultRoute != new.defaultRoute
            || old.deniedNetworks != new.deniedNetworks || old.clusters != new.clusters
            || old.defaultDomains != new.defaultDomains
        {
            kinds.append(.servicesUpdate)
        }
        if old.policy != new.policy { kinds.append(.policyUpdate) }
        if old.entitlements != new.entitlements { kinds.append(.entitlementsUpdate) }
        return kinds
    }
}
