internal import Foundation
internal import SallyportCore
internal import SallyportWire

extension AuditEvent {
    /// The entry of a command; nil for one that only lists.
    ///
    /// Names and addresses are taken once they are read as what they should be. Free texts (an app's configuration, a
    /// policy, extra information) are never taken: an app's secrets may stand there.
    init?(_ command: AdministrationCommand, by actor: AuditActor, at time: Date) {
        guard command.isAudited else { return nil }
        self.init(.administration, by: actor, at: time)
        self[.action] = command.name
        if !tellUsers(command), !tellPolicy(command) { tellOthers(command) }
    }

    private mutating func tellUsers(_ command: AdministrationCommand) -> Bool {
        switch command {
        case .addUser(let user), .removeUser(let user, _): self[.user] = user
        case .setPrincipalName(let user, let name): (self[.user], self[.detail]) = (user, name ?? "none")
        case .addApplication(let entitlement, let version), .removeApplication(let entitlement, let version, _):
            (self[.entitlement], self[.version]) = (entitlement, version)
        case .entitle(let user, let entitlement, let version), .unentitle(let user, let entitlement, let version, _):
            (self[.user], self[.entitlement], self[.version]) = (user, entitlement, version)
        case .issueKey(let user, let entitlement): (self[.user], self[.entitlement]) = (user, entitlement)
        case .revokeKeys(.one(let id)): self[.key] = AccessKeyIdentifier(id)?.description
        case .revokeKeys(.all(let user)): self[.user] = user
        case .configureApplication(let entitlement, _), .setExtraInfo(let entitlement, _),
            .setPolicy(let entitlement, _), .setLogging(let entitlement, _, _):
            self[.entitlement] = entitlement
        default: return false
        }
        return true
    }

    private mutating func tellPolicy(_ command: AdministrationCommand) -> Bool {
        switch command {
        case .addServer(let server):
            self[.target] = (try? Endpoint(server.endpoint))?.description
            self[.entitlement] = server.entitlement
            self[.detail] = server.address.map { "\(server.route) at \($0)" } ?? server.route
        case .removeServer(let endpoint): self[.target] = (try? Endpoint(endpoint))?.description
        case .setRoute(let domain, let route, let ports, let secondary):
            self[.target] = domain
            let list = ports.map { " ports \($0.prefix(64).map(String.init).joined(separator: ","))" } ?? ""
            self[.detail] = route + list + (secondary.map { ", else \($0)" } ?? "")
        case .removeRoute(let domain): self[.target] = domain
        case .setDefaultDomains(let domains): self[.detail] = domains.joined(separator: " ")
        case .blockTLS(let version), .unblockTLS(let version), .setTLSFloor(let version): self[.detail] = version
        case .allowScheme(let name), .forbidScheme(let name): self[.detail] = name
        case .setCluster(let name, let relays, _):
            (self[.target], self[.detail]) = (name, relays.map(\.endpoint).joined(separator: " "))
        case .removeCluster(let name): self[.target] = name
        case .addRealm(let name, let kdc): (self[.target], self[.detail]) = (name, kdc)
        case .removeRealm(let name): self[.target] = name
        case .setLease(let length): self[.detail] = length
        default: return false
        }
        return true
    }

    private mutating func tellOthers(_ command: AdministrationCommand) {
        switch command {
        case .withdraw(let instance, let withdrawal, _):
            self[.instance] = InstanceIdentifier(instance)?.description
            self[.detail] = withdrawal.rawValue
        case .authority(let action): self[.detail] = action.auditName
        case .removeGateway(let name), .removeRelay(let name): self[.target] = name
        case .apply(_, let prune, _, _) where prune: self[.action] = "apply.prune"
        case .audit(let request):
            self[.action] = request.name
            if case .page(let chain, let after, _) = request { self[.detail] = "\(chain) after \(after)" }
        default: break
        }
    }
}

extension AdministrationCommand {
    /// Whether it changes something, hands something out, or reads the audit trail.
    var isAudited: Bool {
        switch self {
        case .listUsers, .listApplications, .listServers, .listRoutes, .listClusters, .listRealms, .listInstances,
            .listKeys, .listGateways, .listRelays, .showFleet, .show, .authority(.status),
            .apply(_, _, dryRun: true, _):
            false
        default: true
        }
    }
}

extension AuthorityAction {
    fileprivate var auditName: String {
        switch self {
        case .status: "status"
        case .rotate: "rotate"
        case .finish: "finish"
        case .revoke: "revoke"
        }
    }
}
