/// An administrator's command to a gateway: one message over the administration socket.
///
/// Values are texts that are validated where the command is executed, since the sender is not trusted to have done so.
/// Each command is one transaction.
package enum AdministrationCommand: Sendable, Hashable, Codable {
    case addUser(String)
    /// `confirmed`: instances that would be wiped are wiped. Without it they are only named.
    case removeUser(String, confirmed: Bool)
    case listUsers
    case listApplications
    case listServers
    case listRoutes
    case listClusters
    case addApplication(entitlement: String, version: String)
    case removeApplication(entitlement: String, version: String, confirmed: Bool)
    /// Free text that the application gets as its configuration.
    case configureApplication(entitlement: String, text: String)
    /// How much the application logs; what is nil stays as it is.
    case setLogging(entitlement: String, isDetailed: Bool?, isKeptFromUsers: Bool?)
    /// A JSON object; an empty text or object ends what was set.
    case setExtraInfo(entitlement: String, json: String)
    /// `user@realm`; nil if the user has none any more.
    case setPrincipalName(user: String, String?)
    /// How long apps may work without contact: a whole number with `m`, `h` or `d`.
    case setLease(String)
    /// A JSON object.
    case setPolicy(entitlement: String, json: String)
    case entitle(user: String, entitlement: String, version: String)
    case unentitle(user: String, entitlement: String, version: String, confirmed: Bool)
    /// Answered with ``AdministrationReply/link(_:)``.
    case issueKey(user: String, entitlement: String)
    /// Answered with ``AdministrationReply/accessKeys(_:)``; lists the keys of all users if `user` is nil.
    case listKeys(user: String?)
    /// Destroys unused access keys. Answered with ``AdministrationReply/revoked(_:)``.
    case revokeKeys(KeySelection)
    case addServer(ServerEntry)
    case removeServer(endpoint: String)
    /// `domain` may be `default`, or a network whose addresses are denied; if `ports` is nil, the default ports apply.
    /// `secondary` is the name of a cluster.
    case setRoute(domain: String, route: String, ports: [UInt16]?, secondary: String? = nil)
    /// The domains to which names without a domain may belong, in order; none ends what was set.
    case setDefaultDomains([String])
    case removeRoute(domain: String)
    case blockTLS(version: String)
    case unblockTLS(version: String)
    case setTLSFloor(version: String)
    /// Of ``Directory/knownSchemes``, in any case of letters.
    case allowScheme(name: String)
    case forbidScheme(name: String)
    /// `authorities` are those of the relays' certificates, PEM; nil for the gateway's own.
    case setCluster(name: String, relays: [RelayEntry], authorities: String? = nil)
    case removeCluster(name: String)
    /// HOST or HOST:PORT. Answered with ``AdministrationReply/warned(_:_:)`` if no app can reach it.
    case addRealm(name: String, kdc: String)
    case removeRealm(name: String)
    case listRealms
    /// YAML of at most 1 MiB. A dry run changes nothing and answers with the difference.
    case apply(yaml: String, prune: Bool, dryRun: Bool, confirmed: Bool)
    /// Answered with what `apply` accepts, without secrets.
    case show
    case listInstances
    /// Answered with ``AdministrationReply/relays(_:)``.
    case listRelays
    /// Ends the enrolment of a relay on a machine of its own.
    case removeRelay(name: String)
    /// `confirmed`: an instance that is to be wiped is wiped. Without it, it is only named.
    case withdraw(instance: String, Withdrawal, confirmed: Bool = true)
    /// Answered with ``AdministrationReply/authority(_:)``, in the state after the action.
    case authority(AuthorityAction)
    /// Answered with ``AdministrationReply/invitation(_:)`` for the gateway, or the relay, that has made the request.
    case invite(request: String)
    /// Answered with ``AdministrationReply/audit(_:)``.
    case audit(AuditRequest)
    /// Answered with ``AdministrationReply/gateways(_:)``.
    case listGateways
    /// Answered with ``AdministrationReply/fleet(_:)``.
    case showFleet
    /// Of a gateway that has ended: its identifier, its name if no other has it, or HOST:PORT of its control listener.
    case removeGateway(String)

    package typealias Withdrawal = Gateway.Withdrawal

    /// Selects access keys.
    package enum KeySelection: Sendable, Hashable, Codable {
        /// The key with this identifier, as in ``AdministrationReply/AccessKeyEntry/id``.
        case one(String)
        case all(ofUser: String)
    }

    /// A server and where it leads.
    package struct ServerEntry: Sendable, Hashable, Codable {
        /// HOST:PORT
        package var endpoint: String
        /// The application that owns the server; nil for an additional server, which is for routing only and for all.
        package var entitlement: String?
        /// Server 1 is tried first.
        package var priority: Int?
        package var route: String
        /// The name of the cluster that stands in for the route's.
        package var secondary: String?
        /// The address of the name inside the enterprise's network.
        package var address: String?

        package init(
            endpoint: String, entitlement: String? = nil, priority: Int? = nil, route: String = "relay",
            secondary: String? = nil, address: String? = nil
        ) {
            self.endpoint = endpoint
            self.entitlement = entitlement
            self.priority = priority
            self.route = route
            self.secondary = secondary
            self.address = address
        }
    }

    /// A relay of a cluster.
    package struct RelayEntry: Sendable, Hashable, Codable {
        /// HOST:PORT
        package var endpoint: String
        /// Relay 1 is tried first.
        package var priority: Int

        package init(endpoint: String, priority: Int = 1) {
            self.endpoint = endpoint
            self.priority = priority
        }
    }
}
