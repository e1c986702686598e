extension AdministrationCommand {
    /// The same command with the administrator's confirmation that instances are wiped; nil for one that never asks for
    /// it with ``AdministrationReply/needsConfirmation(_:)``.
    package var confirmed: AdministrationCommand? {
        switch self {
        case .removeUser(let name, _): .removeUser(name, confirmed: true)
        case .removeApplication(let entitlement, let version, _):
            .removeApplication(entitlement: entitlement, version: version, confirmed: true)
        case .unentitle(let user, let entitlement, let version, _):
            .unentitle(user: user, entitlement: entitlement, version: version, confirmed: true)
        case .apply(let yaml, let prune, let dryRun, _):
            .apply(yaml: yaml, prune: prune, dryRun: dryRun, confirmed: true)
        case .withdraw(let instance, let withdrawal, _):
            .withdraw(instance: instance, withdrawal, confirmed: true)
        default: nil
        }
    }
}

extension AdministrationReply.InstanceEntry {
    /// The instances in words: the first ten, and how many more there are.
    package static func names(of instances: [AdministrationReply.InstanceEntry]) -> String {
        let names = instances.prefix(10).map { "\($0.instance) of \($0.user) (\($0.entitlement))" }
        return names.joined(separator: ", ") + (instances.count > 10 ? " and \(instances.count - 10) more" : "")
    }
}
