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

    /// Whether the administrator or the app itself withdraws access, whatever the lease.
    static func isWithdrawn(by document: ConfigurationDocument, _ decisions: LocalDecisions) -> Bool {
        document.status != .active || decisions.isLocked
    }

    /// -104 comes only with the status of a wipe; a code that is not a lock's counts as a plain block.
    private static func lockCode(of document: ConfigurationDocument) -> ResultCode {
        switch document.code {
        case .remoteLockout, .appVersionNotEntitled, .idleLockout, .passwordChangeRequired: document.code
        default: document.status == .locked ? .remoteLockout : .blocked
        }
    }

    /// Why access is withdrawn, for people.
    ///
    /// - Parameter document: nil once the instance is wiped.
    static func reason(for code: ResultCode, of document: ConfigurationDocument?, at time: Int64) -> String {
        switch code {
        case .wiped: return "The instance was wiped."
        case .appDenied: return "The user is not entitled to the app any more, so the instance was wiped."
        case .remoteLockout: return "The instance is locked."
        case .idleLockout: return "The instance is locked, since it was not used for too long."
        case .passwordChangeRequired: return "The instance is locked until the secret of its store is changed."
        case .appVersionNotEntitled: return versionReason(document)
        default: break
        }
        let isOver = document.map { $0.status == .active && time >= $0.leaseEnd } ?? false
        return isOver ? "The lease is over: the app needs its gateway." : "The instance is blocked."
    }

    private static func versionReason(_ document: ConfigurationDocument?) -> String {
        guard let document else { return "The user is not entitled to this version of the app." }
        let judged = document.entitlement
        let entitled = document.entitlements.first { $0.id == judged.id }?.versions.map(\.description) ?? []
        let others = entitled.isEmpty ? "" : ", but to \(entitled.joined(separator: ", "))"
        return "The user is not entitled to version \(judged.version) of the app\(others)."
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
