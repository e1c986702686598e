package import SallyportCore
internal import SallyportLoading

/// What an instance may do and reach, signed by the gateway: the claims of the configuration JWS.
///
/// Docs/Wire.md lists the claims. A document that exceeds ``Limits``, or has a value outside its range, is refused as a
/// whole.
package struct ConfigurationDocument: Sendable, Hashable, Codable {
    /// `typ` of the JWS that carries it.
    package static let type = "sallyport-config"

    /// The limits of a document.
    package enum Limits {
        /// The JSON text, in bytes.
        package static let document = 512 << 10
        package static let servers = 4096
        package static let domains = 4096
        package static let networks = 4096
        package static let defaultDomains = 16
        package static let clusters = 64
        /// The gateways of a fleet.
        package static let gateways = 64
        package static let relays = 64
        /// The greatest number of the gateway's authorities, of each cluster's, and of endorsements.
        package static let authorities = 4
        package static let entitlements = 256
        /// The greatest number of schemes, and of realms.
        package static let names = 256
        /// The greatest number of KDCs of a realm.
        package static let kdcs = 8
        /// The deepest nesting of the policy, which stands one level below that of the document.
        package static let policyDepth = WireJSON.maximumDepth - 1
        /// The application's configuration text, in bytes.
        package static let text = 64 << 10
        /// The time from signing to the end of the lease, in seconds: 5 minutes to 7 days. A signer's certificate lasts
        /// at least 30 days from the day on which it signs last, and no lease may outlast it.
        package static let lease: ClosedRange<Int64> = 300...604_800
    }

    /// The instance for which it was made.
    package var aud: InstanceIdentifier
    /// Increases with each signed configuration of the instance.
    package var epoch: Int64
    /// When it was signed, Unix seconds.
    package var iat: Int64
    /// Until when it may be used without contact to the gateway, Unix seconds.
    package var leaseEnd: Int64
    package var status: Status
    /// The reason, if the status is not active; otherwise 0.
    package var code: ResultCode
    /// The application for which the instance is activated, in the version that it reported.
    package var entitlement: Entitlement
    package var user: User
    package var trust: Trust
    package var servers: [Server]
    package var domains: [Domain]
    /// Networks to whose addresses no connection may be made, under any name.
    package var deniedNetworks: [IPNetwork]
    package var defaultRoute: DefaultRoute
    /// The domains to which short names may belong, in order; nil in documents of older gateways, and for none.
    package var defaultDomains: [String]?
    package var clusters: [Cluster]
    /// Where the control listeners of the fleet are, or that of a gateway that stands alone; nil in documents of older
    /// gateways.
    package var gateways: [Gateway]?
    package var tls: TLSRestrictions
    /// The allowed authentication schemes, in lower case: `basic`, `digest`, `negotiate`, `ntlm`, `ntlmv1`.
    package var schemes: [String]
    /// The KDCs of Kerberos realms. The route of a KDC decides whether it may be reached.
    package var realms: [Realm]
    /// The application's own policy, passed on unchanged.
    package var policy: JSONValue
    /// Everything that the user is entitled to.
    package var entitlements: [Entitlements]
    package var application: Application

    package init(
        aud: InstanceIdentifier, epoch: Int64, iat: Int64, leaseEnd: Int64, status: Status = .active,
        code: ResultCode = .none, entitlement: Entitlement, user: User, trust: Trust, servers: [Server] = [],
        domains: [Domain] = [], deniedNetworks: [IPNetwork] = [],
        defaultRoute: DefaultRoute = DefaultRoute(route: .deny), defaultDomains: [String]? = nil,
        clusters: [Cluster] = [], gateways: [Gateway]? = nil,
        tls: TLSRestrictions = TLSRestrictions(), schemes: [String] = [], realms: [Realm] = [],
        policy: JSONValue = .object([:]), entitlements: [Entitlements] = [], application: Application = Application()
    ) {
        self.aud = aud
        self.epoch = epoch
        self.iat = iat
        self.leaseEnd = leaseEnd
        self.status = status
        self.code = code
        self.entitlement = entitlement
        self.user = user
        self.trust = trust
        self.servers = servers
        self.domains = domains
        self.deniedNetworks = deniedNetworks
        self.defaultRoute = defaultRoute
        self.defaultDomains = defaultDomains
        self.clusters = clusters
        self.gateways = gateways
        self.tls = tls
        self.schemes = schemes
        self.realms = realms
        self.policy = policy
        self.entitlements = entitlements
        self.application = application
    }
}

extension ConfigurationDocument {
    /// Reads the payload of a JWS and checks every limit and range.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        self = try WireJSON.decode(ConfigurationDocument.self, from: bytes, limit: Limits.document)
        try checkRanges()
        try checkCounts()
    }

    /// The payload of a JWS.
    package func serialized() throws(WireError) -> [UInt8] {
        try checkRanges()
        try checkCounts()
        return try Self.checkedLength(of: WireJSON.encode(self))
    }

    /// What no instance would take is not signed, so that the signer's log tells of it.
    static func checkedLength(of text: [UInt8]) throws(WireError) -> [UInt8] {
        guard text.count <= Limits.document else {
            throw WireError(
                .tooLarge, "The configuration has \(text.count) bytes, and no more than \(Limits.document) are taken.")
        }
        return text
    }

    func checkRanges() throws(WireError) {
        // 2^53: the largest whole number that every JSON reader keeps; far beyond any date in seconds or milliseconds.
        let times = [epoch, iat, leaseEnd]
        guard times.allSatisfy({ $0 > 0 && $0 <= 1 << 53 }) else {
            throw WireError(.malformed, "Epoch and times are positive and at most 2^53.")
        }
        guard !trust.authorities.isEmpty, 1...(1 << 53) ~= trust.signers else {
            throw WireError(.malformed, "Authorities stand there, and a generation of signers from 1 to 2^53.")
        }
        guard (status == .active) == (code == .none) else {
            throw WireError(.malformed, "A code is required exactly if the status is not active.")
        }
        let priorities =
            servers.map(\.priority) + clusters.flatMap(\.relays).map(\.priority) + (gateways ?? []).map(\.priority)
        guard priorities.allSatisfy((1...1000).contains) else {
            throw WireError(.malformed, "Priorities are 1 to 1000.")
        }
        guard clusters.allSatisfy({ Route.isClusterName($0.name) }) else {
            throw WireError(.malformed, "A cluster's name has 1 to 64 letters, digits, hyphens and dots.")
        }
        guard defaultDomains?.allSatisfy(Self.isDomain) ?? true else {
            throw WireError(.malformed, "A default domain is a name in A-labels and lower case.")
        }
        guard secondaries.allSatisfy({ $0.route.isRelay && Route.isClusterName($0.cluster) }) else {
            throw WireError(.malformed, "A secondary cluster is one's name, of a route through relays.")
        }
        guard user.id.utf8.count <= 254 else { throw WireError(.tooLarge, "A user id has at most 254 bytes.") }
        guard user.principalName.map(User.isPrincipalName) ?? true else {
            throw WireError(.malformed, "A user principal name is USER@REALM, of at most 1024 bytes.")
        }
        guard application.extraInfo.map({ Application.extraInfo($0) != nil }) ?? true else {
            throw WireError(.malformed, "Extra information is a JSON object within its limit.")
        }
    }

    func checkCounts() throws(WireError) {
        let isWithin =
            servers.count <= Limits.servers && domains.count <= Limits.domains && clusters.count <= Limits.clusters
            && deniedNetworks.count <= Limits.networks && gateways?.count ?? 0 <= Limits.gateways
            && defaultDomains?.count ?? 0 <= Limits.defaultDomains
            && clusters.allSatisfy { $0.relays.count <= Limits.relays && $0.authorities.count <= Limits.authorities }
            && trust.authorities.count <= Limits.authorities && trust.endorsements.count <= Limits.authorities
            && entitlements.count <= Limits.entitlements && schemes.count <= Limits.names
            && realms.count <= Limits.names && realms.allSatisfy { $0.kdcs.count <= Limits.kdcs }
            && application.config.utf8.count <= Limits.text
        guard isWithin else { throw WireError(.tooLarge, "The configuration holds more than its limits allow.") }
    }

    /// The rules for routes, for both sides.
    package var routingTable: RoutingTable {
        RoutingTable(
            servers: servers.map { RoutingTable.Server($0.endpoint, route: $0.route, secondary: $0.secondary) },
            domains: domains.map {
                RoutingTable.Domain($0.name, route: $0.route, ports: Set($0.ports), secondary: $0.secondary)
            },
            denying: deniedNetworks, default: defaultRoute.route, defaultPorts: Set(defaultRoute.ports),
            secondary: defaultRoute.secondary, defaultDomains: defaultDomains ?? [])
    }

    /// Every rule's secondary cluster, with the rule's route.
    private var secondaries: [(route: Route, cluster: String)] {
        let rules = servers.map { ($0.route, $0.secondary) } + domains.map { ($0.route, $0.secondary) }
        return (rules + [(defaultRoute.route, defaultRoute.secondary)]).compactMap { route, cluster in
            cluster.map { (route, $0) }
        }
    }

    private static func isDomain(_ text: String) -> Bool {
        guard case .name(text)? = try? Host(text) else { return false }
        return true
    }
}
