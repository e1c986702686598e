package import Foundation

/// A gateway's answer to an ``AdministrationCommand``.
package enum AdministrationReply: Sendable, Hashable, Codable {
    case done
    /// What was done, with a warning.
    indirect case warned(AdministrationReply, String)
    case realms([RealmEntry])
    case users([String])
    case applications([ApplicationEntry])
    case servers([AdministrationCommand.ServerEntry])
    case routes([RouteEntry])
    case clusters([ClusterEntry])
    /// An activation link with its access key: for the administrator only, never for a log.
    case link(String)
    /// The access keys, the oldest first.
    case accessKeys([AccessKeyEntry])
    /// The number of access keys that were destroyed.
    case revoked(Int)
    /// YAML as `apply` accepts it.
    case configuration(String)
    case instances([InstanceEntry])
    case authority(AuthorityEntry)
    case gateways([GatewayEntry])
    case fleet(FleetEntry)
    /// What a gateway that asked to join the fleet needs, sealed for it.
    case invitation(String)
    case relayInvitation(InvitedRelay)
    case audit(AuditAnswer)
    /// What `apply` changed, or would change: one line a change.
    case changes([String])
    /// Nothing was done: these instances would be wiped, and the command did not confirm it.
    case needsConfirmation([InstanceEntry])
    case relays([RelayEntry])
    /// What was done, and in how many of the fleet's relays it is in force.
    indirect case atRelays(AdministrationReply, RelayReport)
    case failure(Failure)

    /// Whether something was done that is in force at this gateway, from which relays hear of it.
    var isDone: Bool {
        switch self {
        case .done, .changes, .authority: true
        default: false
        }
    }

    /// The reply without its warning.
    var result: AdministrationReply {
        if case .warned(let reply, _) = self { reply } else { self }
    }

    /// - Parameter trouble: why what was done is not in force yet; nil if it is.
    func told(_ trouble: GatewayError?) -> AdministrationReply {
        guard let trouble else { return self }
        return .warned(
            self,
            "The change is made, so do not repeat it; but it is not in force here yet, since the gateway cannot read its "
                + "store now: \(trouble.message)")
    }

    /// A relay on a machine of its own.
    package struct RelayEntry: Sendable, Hashable, Codable {
        package var name: String
        package var cluster: String
        /// Where it listens; nil until it has followed the feed.
        package var port: UInt16?
        /// The revision by which it judges; nil if this gateway has not heard of it.
        package var applied: Int64?
        /// Whether tunnels may stay open there that are no longer allowed; nil for no.
        package var leavesOpen: Bool?
        /// Milliseconds since it answered last; nil if it never did since this gateway runs.
        package var silent: Int64?
        package var id: String
    }

    /// A relay that was added, and what it needs, which no other can use.
    package struct InvitedRelay: Sendable, Hashable, Codable {
        package var invitation: String
        package var name: String
        package var cluster: String
    }

    /// A Kerberos realm.
    package struct RealmEntry: Sendable, Hashable, Codable {
        package var realm: String
        /// HOST:PORT, in the order in which they are tried.
        package var kdcs: [String]

        package init(realm: String, kdcs: [String]) {
            self.realm = realm
            self.kdcs = kdcs
        }
    }

    /// An activated installation.
    package struct InstanceEntry: Sendable, Hashable, Codable {
        package var instance: String
        package var user: String
        package var entitlement: String
        package var version: String
        /// `active`, `blocked`, `locked`, `wiped` or `denied`.
        package var status: String
        /// See ``ContactLedger``.
        package var lastContact: Date

        package init(
            instance: String, user: String, entitlement: String, version: String, status: String, lastContact: Date
        ) {
            self.instance = instance
            self.user = user
            self.entitlement = entitlement
            self.version = version
            self.status = status
            self.lastContact = lastContact
        }
    }

    /// A description of an access key, without the key itself.
    package struct AccessKeyEntry: Sendable, Hashable, Codable {
        package var id: String
        package var user: String
        package var entitlement: String
        package var issued: Date
        package var expires: Date
        /// `unused`, `used` or `expired`.
        package var state: String
        /// The instance that a used key activated.
        package var instance: String?
    }

    /// Why the command was not executed.
    package struct Failure: Error, Sendable, Hashable, Codable {
        /// The code of the gateway's error: `invalid`, `notFound`, `exists`, …
        package var name: String
        package var message: String

        package init(name: String, message: String) {
            self.name = name
            self.message = message
        }
    }
}
