internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// An administrator's declaration: users, their rights, and the servers that apps may reach. A value; the gateway has
/// one.
///
/// Docs/Administration.md describes its YAML format. Every change uses the methods of this type, which refuse invalid
/// values without changing anything.
struct Directory: Sendable, Hashable, Codable {
    /// The most entries of each kind.
    enum Limits {
        static let users = 100_000
        static let applications = 1_000
        static let versions = 100
        static let servers = 4_000
        static let domains = 4_000
        static let networks = 4_000
        /// With the gateway's own, which is in every configuration, as many as one may name.
        static let clusters = ConfigurationDocument.Limits.clusters - 1
        /// The applications of one user.
        static let entitlements = ConfigurationDocument.Limits.entitlements
        static let relays = 64
        static let configuration = 64 << 10
        static let policy = 64 << 10
    }

    struct User: Sendable, Hashable, Codable {
        /// The identifier to which instances and access keys are bound.
        let id: UserIdentifier
        /// By entitlement.
        var entitlements: [String: Set<String>] = [:]
        /// `user@realm`, if the user has one.
        var principalName: String?
    }

    struct Application: Sendable, Hashable, Codable {
        var versions: Set<String> = []
        var configuration = ""
        /// A JSON object.
        var policy = "{}"
        /// Nil if the administrator has not decided, as in data of older versions.
        var logging: Logging?
        /// A JSON object; nil if there is none, as in data of older versions.
        var extraInfo: String?
    }

    struct Server: Sendable, Hashable, Codable {
        var endpoint: String
        /// Nil for an additional server, which is for all applications.
        var application: String?
        var priority = 1
        var route: Route = .relay
        /// The address of the name inside the enterprise's network.
        var address: String?
        /// The cluster that stands in for the route's; nil for none, as in data of older versions.
        var secondary: String?
    }

    struct Domain: Sendable, Hashable, Codable {
        var route: Route
        var ports: Set<UInt16> = RoutingTable.defaultPorts
        /// The cluster that stands in for the route's; nil for none, as in data of older versions.
        var secondary: String?
    }

    struct Relay: Sendable, Hashable, Codable {
        var endpoint: String
        var priority = 1
    }

    var users: [String: User] = [:]
    var applications: [String: Application] = [:]
    /// In the order of endpoint and application.
    var servers: [Server] = []
    /// By name, without the default.
    var domains: [String: Domain] = [:]
    var defaultRoute = Domain(route: .deny)
    /// Networks to whose addresses no connection is made, under any name.
    var deniedNetworks: Set<IPNetwork> = []
    var blockedTLS: Set<TLSVersion> = []
    var tlsFloor: TLSVersion?
    /// Nil if the administrator has not decided, as in data of older versions.
    var allowedSchemes: Set<String>?
    /// By name, without the gateway's own.
    var clusters: [String: [Relay]] = [:]
    /// The authorities of relays' certificates, PEM, by cluster, where they are not the gateway's; nil if there are none,
    /// as in data of older versions.
    var clusterAuthorities: [String: String]?
    /// KDCs of realms, by name; nil if there are none, as in data of older versions.
    var kdcs: [String: [String]]?
    /// In seconds; nil for the default, as in data of older versions.
    var leaseLength: Int64?
    /// In the order in which they are considered; nil for none, as in data of older versions.
    var defaultDomains: [String]?
}

// MARK: Users, applications, entitlements

extension Directory {
    /// - Parameter id: the identifier of an existing user that is kept.
    mutating func addUser(_ name: String, id: UserIdentifier = UserIdentifier()) throws(GatewayError) {
        guard BasicCredentials.isUser(name) else {
            throw GatewayError(
                .invalid, "A user has 1 to 254 bytes, no control characters, no colon, and no space at either end.")
        }
        guard users[name] == nil else { throw GatewayError(.exists, "User \(name) exists.") }
        try check(users.count, Limits.users, "users")
        users[name] = User(id: id)
    }

    mutating func removeUser(_ name: String) throws(GatewayError) {
        guard users.removeValue(forKey: name) != nil else { throw unknown(user: name) }
    }

    mutating func addApplication(_ entitlement: String, version: String) throws(GatewayError) {
        let (id, version) = try Self.parsed(entitlement, version)
        if applications[id] == nil { try check(applications.count, Limits.applications, "apps") }
        try check(applications[id]?.versions.count ?? 0, Limits.versions, "versions of \(id)")
        guard applications[id, default: Application()].versions.insert(version).inserted else {
            throw GatewayError(.exists, "App \(id) \(version) exists.")
        }
    }

    mutating func removeApplication(_ entitlement: String, version: String) throws(GatewayError) {
        guard applications[entitlement]?.versions.remove(version) != nil else {
            throw unknown(application: entitlement, version)
        }
        for name in users.keys { users[name]?.entitlements[entitlement]?.remove(version) }
        if applications[entitlement]?.versions.isEmpty == true {
            applications[entitlement] = nil
            servers.removeAll { $0.application == entitlement }
        }
        dropEmptyEntitlements()
    }

    mutating func configure(_ entitlement: String, text: String) throws(GatewayError) {
        guard applications[entitlement] != nil else { throw unknown(application: entitlement) }
        guard text.utf8.count <= Limits.configuration else {
            throw GatewayError(.invalid, "A configuration has at most \(Limits.configuration) bytes.")
        }
        applications[entitlement]?.configuration = text
    }

    mutating func setPolicy(_ entitlement: String, json: String) throws(GatewayError) {
        guard applications[entitlement] != nil else { throw unknown(application: entitlement) }
        guard case .object? = try? Self.policy(json) else {
            throw GatewayError(
                .invalid,
                "A policy is a JSON object of at most \(Limits.policy) bytes, at most "
                    + "\(ConfigurationDocument.Limits.policyDepth) levels deep.")
        }
        applications[entitlement]?.policy = json
    }

    /// A policy in the form in which a configuration has it.
    static func policy(_ json: String) throws(WireError) -> JSONValue {
        try WireJSON.decode(
            JSONValue.self, from: Array(json.utf8), limit: Limits.policy,
            deepest: ConfigurationDocument.Limits.policyDepth)
    }

    mutating func entitle(_ user: String, to entitlement: String, version: String) throws(GatewayError) {
        guard users[user] != nil else { throw unknown(user: user) }
        guard applications[entitlement]?.versions.contains(version) == true else {
            throw unknown(application: entitlement, version)
        }
        let known = users[user]?.entitlements ?? [:]
        if known[entitlement] == nil { try check(known.count, Limits.entitlements, "apps of user \(user)") }
        users[user]?.entitlements[entitlement, default: []].insert(version)
    }

    mutating func unentitle(_ user: String, from entitlement: String, version: String) throws(GatewayError) {
        guard users[user] != nil else { throw unknown(user: user) }
        guard users[user]?.entitlements[entitlement]?.remove(version) != nil else {
            throw GatewayError(.notFound, "User \(user) is not entitled to \(entitlement) \(version).")
        }
        dropEmptyEntitlements()
    }

    /// The user to whom a record belongs; nil if that user was removed, even if another user has the name now.
    func user(named name: String, _ id: UserIdentifier) -> User? {
        guard let user = users[name], user.id == id else { return nil }
        return user
    }

    /// The versions of an application that a user is entitled to, in ascending order.
    func versions(of entitlement: String, for user: User?) -> [EntitlementVersion] {
        (user?.entitlements[entitlement] ?? []).compactMap(EntitlementVersion.init).sorted()
    }

    /// The versions that an instance's user is entitled to, in ascending order.
    func versions(for record: InstanceRecord) -> [EntitlementVersion] {
        versions(of: record.name.entitlement.description, for: user(named: record.user, record.userID))
    }

    /// The versions that the user of an access key is entitled to, in ascending order.
    func versions(for record: AccessKeyRecord) -> [EntitlementVersion] {
        versions(of: record.entitlement.description, for: user(named: record.user, record.userID))
    }

    /// The users' rights to applications, in any version, that no longer exist in another directory.
    func grantsLost(in new: Directory) -> Set<Grant> {
        var lost: Set<Grant> = []
        for (name, user) in users where new.users[name] != user {
            let kept = new.user(named: name, user.id)?.entitlements ?? [:]
            for entitlement in user.entitlements.keys where kept[entitlement] == nil {
                lost.insert(Grant(user: user.id, entitlement: entitlement))
            }
        }
        return lost
    }

    private mutating func dropEmptyEntitlements() {
        users = users.mapValues { user in
            var user = user
            user.entitlements = user.entitlements.filter { !$0.value.isEmpty }
            return user
        }
    }
}

// MARK: Servers, routes, clusters, TLS

extension Directory {
    mutating func addServer(_ server: Server) throws(GatewayError) {
        var server = server
        server.endpoint = try Self.endpoint(server.endpoint).description
        if let application = server.application, applications[application] == nil {
            throw unknown(application: application)
        }
        guard (1...1000).contains(server.priority) else {
            throw GatewayError(.invalid, "A priority is 1 to 1000; 1 is tried first.")
        }
        if let text = server.address {
            guard let address = IPAddress(text) else { throw GatewayError(.invalid, "An address is IPv4 or IPv6.") }
            server.address = "\(address)"
        }
        try checkClusters(server.route, server.secondary)
        servers.removeAll { $0.endpoint == server.endpoint && $0.application == server.application }
        try check(servers.count, Limits.servers, "servers")
        servers.append(server)
        servers.sort { ($0.endpoint, $0.application ?? "") < ($1.endpoint, $1.application ?? "") }
    }

    mutating func removeServer(_ endpoint: String) throws(GatewayError) {
        let endpoint = try Self.endpoint(endpoint).description
        let count = servers.count
        servers.removeAll { $0.endpoint == endpoint }
        guard servers.count < count else {
            throw GatewayError(.notFound, "No server \(endpoint): `admin server list` shows them.")
        }
    }

    mutating func setRoute(_ name: String, _ domain: Domain) throws(GatewayError) {
        try checkClusters(domain.route, domain.secondary)
        guard !domain.ports.isEmpty, !domain.ports.contains(0), domain.ports.count <= 64 else {
            throw GatewayError(.invalid, "A rule opens 1 to 64 ports from 1 to 65535.")
        }
        if name == "default" {
            defaultRoute = domain
            return
        }
        if let network = try Self.network(name) { return try deny(network, domain) }
        let text = try Self.domain(name)
        if domains[text] == nil { try check(domains.count, Limits.domains, "domains") }
        domains[text] = domain
    }

    mutating func removeRoute(_ name: String) throws(GatewayError) {
        if name == "default" {
            defaultRoute = Domain(route: .deny)
            return
        }
        let isRemoved =
            if let network = try Self.network(name) {
                deniedNetworks.remove(network) != nil
            } else {
                domains.removeValue(forKey: try Self.domain(name)) != nil
            }
        guard isRemoved else {
            throw GatewayError(.notFound, "No route for \(name) is set: `admin route list` shows them.")
        }
    }
}

// MARK: Parsing text

extension Directory {
    static func endpoint(_ text: String) throws(GatewayError) -> Endpoint {
        do { return try Endpoint(text) } catch {
            throw GatewayError(.invalid, error.message, underlying: error)
        }
    }

    static func domain(_ text: String) throws(GatewayError) -> String {
        guard case .name(let name)? = try? Host(text.hasPrefix(".") ? String(text.dropFirst()) : text) else {
            throw GatewayError(.invalid, "A rule is for a domain, a network such as 10.0.0.0/8, or `default`.")
        }
        // Another spelling would be a domain that is displayed like the keyword.
        guard name != "default" else {
            throw GatewayError(
                .invalid, "Write `default`, in lower case and without dots, for the route of all other names.")
        }
        return name
    }

    private static func parsed(_ entitlement: String, _ version: String) throws(GatewayError) -> (String, String) {
        (try self.entitlement(entitlement).description, try self.version(version).description)
    }

    static func entitlement(_ text: String) throws(GatewayError) -> EntitlementIdentifier {
        guard let id = EntitlementIdentifier(text) else {
            throw GatewayError(.invalid, "An app is a reversed domain name in lower case, such as com.example.report.")
        }
        return id
    }

    static func version(_ text: String) throws(GatewayError) -> EntitlementVersion {
        guard let version = EntitlementVersion(text) else {
            throw GatewayError(.invalid, "A version is 1 to 4 numbers of up to 3 digits, such as 1.0.0.0.")
        }
        return version
    }

    func check(_ count: Int, _ limit: Int, _ what: String) throws(GatewayError) {
        guard count < limit else { throw GatewayError(.invalid, "There are \(limit) \(what) already, the most.") }
    }

    func unknown(user: String) -> GatewayError {
        GatewayError(.notFound, "No user \(user): `admin user list` shows them.")
    }

    func unknown(application: String, _ version: String? = nil) -> GatewayError {
        let name = version.map { "\(application) \($0)" } ?? application
        return GatewayError(.notFound, "No app \(name): `admin app add` adds one, `admin app list` shows them.")
    }
}
