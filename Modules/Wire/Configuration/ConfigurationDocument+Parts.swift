package import SallyportCore
internal import SallyportLoading

extension ConfigurationDocument {
    /// Whether the instance may work.
    package enum Status: String, Sendable, Hashable, Codable, CaseIterable {
        case active, blocked, locked, wiped, denied
    }

    /// An application in one version.
    package struct Entitlement: Sendable, Hashable, Codable {
        package var id: EntitlementIdentifier
        package var version: EntitlementVersion

        package init(id: EntitlementIdentifier, version: EntitlementVersion) {
            self.id = id
            self.version = version
        }
    }

    /// An application in all versions that the user is entitled to.
    package struct Entitlements: Sendable, Hashable, Codable {
        package var id: EntitlementIdentifier
        package var versions: [EntitlementVersion]

        package init(id: EntitlementIdentifier, versions: [EntitlementVersion]) {
            self.id = id
            self.versions = versions
        }
    }

    /// The instance's trust from now on.
    package struct Trust: Sendable, Hashable {
        /// The authorities that may have issued the gateway's and the signer's certificates, DER. The one that issued
        /// the signer's certificate is among them.
        package var authorities: [[UInt8]]
        /// For each authority that may be new to the instance, an endorsement by an authority that it knows, DER.
        package var endorsements: [[UInt8]]
        /// The lowest generation of signers that is trusted: see ``SignerGeneration``.
        package var signers: Int64

        package init(authorities: [[UInt8]], endorsements: [[UInt8]] = [], signers: Int64 = 1) {
            self.authorities = authorities
            self.endorsements = endorsements
            self.signers = signers
        }
    }

    package struct User: Sendable, Hashable, Codable {
        package var id: String
        /// `user@realm`, if the user has one.
        package var principalName: String?

        package init(id: String, principalName: String? = nil) {
            self.id = id
            self.principalName = principalName
        }
    }

    /// A server that an administrator lists.
    package struct Server: Sendable, Hashable {
        package var endpoint: Endpoint
        /// Server 1 is tried first.
        package var priority: Int
        package var route: Route
        /// Whether it is one of the app's own servers, which the app can look up; otherwise it is listed for routing
        /// only.
        package var isApplicationServer: Bool
        /// The cluster that stands in while no relay of the route's can be reached.
        package var secondary: String?

        package init(
            _ endpoint: Endpoint, priority: Int = 1, route: Route, isApplicationServer: Bool, secondary: String? = nil
        ) {
            self.endpoint = endpoint
            self.priority = priority
            self.route = route
            self.isApplicationServer = isApplicationServer
            self.secondary = secondary
        }
    }

    /// A domain and all names below it.
    package struct Domain: Sendable, Hashable {
        /// In A-labels and lower case.
        package var name: String
        package var route: Route
        /// Ports that relays open for it.
        package var ports: [UInt16]
        /// The cluster that stands in while no relay of the route's can be reached.
        package var secondary: String?

        package init(
            _ name: String, route: Route, ports: [UInt16] = RoutingTable.defaultPorts.sorted(),
            secondary: String? = nil
        ) {
            self.name = name
            self.route = route
            self.ports = ports
            self.secondary = secondary
        }
    }

    /// The route if no other rule matches.
    package struct DefaultRoute: Sendable, Hashable, Codable {
        package var route: Route
        package var ports: [UInt16]
        /// The cluster that stands in while no relay of the route's can be reached.
        package var secondary: String?

        package init(
            route: Route, ports: [UInt16] = RoutingTable.defaultPorts.sorted(), secondary: String? = nil
        ) {
            self.route = route
            self.ports = ports
            self.secondary = secondary
        }
    }

    /// A named cluster of equivalent relays.
    package struct Cluster: Sendable, Hashable {
        package var name: String
        package var relays: [RelayAccess.Relay]
        /// The only authorities that may have issued the relays' certificates, DER.
        package var authorities: [[UInt8]]

        package init(name: String, relays: [RelayAccess.Relay], authorities: [[UInt8]]) {
            self.name = name
            self.relays = relays
            self.authorities = authorities
        }
    }

    /// A Kerberos realm.
    package struct Realm: Sendable, Hashable {
        package var name: String
        /// In the order in which they are tried.
        package var kdcs: [Endpoint]

        package init(_ name: String, kdcs: [Endpoint]) {
            self.name = name
            self.kdcs = kdcs
        }
    }

    /// The TLS versions that the administrator forbids on relayed connections.
    package struct TLSRestrictions: Sendable, Hashable, Codable {
        package var blocked: [TLSVersion]
        package var floor: TLSVersion?

        package init(blocked: [TLSVersion] = [], floor: TLSVersion? = nil) {
            self.blocked = blocked
            self.floor = floor
        }
    }

    /// An administrator's settings for an application.
    package struct Application: Sendable, Hashable, Codable {
        /// The administrator's text for the app, passed on unchanged.
        package var config: String
        package var detailedLogsOn: Bool
        package var preventUserDetailedLogs: Bool
        /// Further settings, as JSON text.
        package var extraInfo: String?

        package init(
            config: String = "", detailedLogsOn: Bool = false, preventUserDetailedLogs: Bool = false,
            extraInfo: String? = nil
        ) {
            self.config = config
            self.detailedLogsOn = detailedLogsOn
            self.preventUserDetailedLogs = preventUserDetailedLogs
            self.extraInfo = extraInfo
        }
    }
}
