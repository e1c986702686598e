internal import SallyportCore

/// In how many relays a change is in force, for open tunnels too.
package struct RelayReport: Sendable, Hashable, Codable {
    /// A relay that has not applied the change in time, or a guard that leaves tunnels open.
    package struct Missing: Sendable, Hashable, Codable {
        package var name: String
        /// Milliseconds since it answered last; nil if it never did since this gateway runs.
        package var silent: Int64?

        /// Whether new tunnels are judged by the change there, and open ones may go on all the same; nil for no.
        package var leavesOpen: Bool?

        package init(name: String, silent: Int64?, leavesOpen: Bool? = nil) {
            (self.name, self.silent, self.leavesOpen) = (name, silent, leavesOpen)
        }
    }

    package var inForce: Int
    /// Of how many.
    package var relays: Int
    /// From the command to the last answer, or to the end of the wait.
    package var milliseconds: Int64
    package var missing: [Missing]
}

extension AdministrationCommand {
    /// Whether it takes something away, so that it matters when relays have heard of it.
    var withdraws: Bool {
        switch self {
        case .apply(_, _, let isDryRun, _): !isDryRun
        case .withdraw(_, let withdrawal, _): withdrawal.takesAccess
        case .authority(let action): action.endsCertificates
        // It may replace one that led through relays.
        case .addServer(let server): Route(server.route)?.isRelay != true
        case .removeUser, .removeApplication, .unentitle, .removeServer, .setRoute, .removeRoute, .setDefaultDomains,
            .setCluster, .removeCluster, .removeGateway:
            true
        // Apps are told of these, and relays do not judge by them; a relay that is removed answers nothing any more.
        case .configureApplication, .setLogging, .setExtraInfo, .setPrincipalName, .setLease, .setPolicy, .blockTLS,
            .unblockTLS, .setTLSFloor, .allowScheme, .forbidScheme, .addRealm, .removeRealm, .removeRelay:
            false
        case .addUser, .addApplication, .entitle, .issueKey, .revokeKeys, .invite, .audit: false
        case .listUsers, .listApplications, .listServers, .listRoutes, .listClusters, .listKeys, .listRealms, .show,
            .listInstances, .listRelays, .listGateways, .showFleet:
            false
        }
    }
}

extension Gateway.Withdrawal {
    fileprivate var takesAccess: Bool {
        switch self {
        case .block, .lock, .lockIdle, .lockForPasswordChange, .wipe: true
        case .unblock, .unlock: false
        }
    }
}

extension AuthorityAction {
    /// Whether certificates that were accepted are not any more, or end with it.
    fileprivate var endsCertificates: Bool {
        switch self {
        case .finish, .revoke: true
        case .status, .rotate: false
        }
    }
}
