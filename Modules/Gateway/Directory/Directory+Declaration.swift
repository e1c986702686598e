internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import Yams

/// A directory in YAML: the format of `admin apply` and `admin show`. Every part is optional.
struct Declaration: Codable, Sendable, Hashable {
    struct Application: Codable, Sendable, Hashable {
        var id: String
        var versions: [String]
        var config: String?
        /// JSON as text.
        var policy: String?
        var detailedLogsOn: Bool?
        var preventUserDetailedLogs: Bool?
        /// JSON as text.
        var extraInfo: String?
    }

    struct Entitlement: Codable, Sendable, Hashable {
        var app: String
        var versions: [String]
    }

    struct User: Codable, Sendable, Hashable {
        var name: String
        var userPrincipalName: String?
        var entitlements: [Entitlement]?
    }

    struct Server: Codable, Sendable, Hashable {
        var server: String
        var app: String?
        var priority: Int?
        var route: String?
        /// The name of a cluster.
        var secondary: String?
        var address: String?
    }

    struct Rule: Codable, Sendable, Hashable {
        /// A domain, `default` for names that no other rule matches, or a network, which has no ports.
        var domain: String
        var route: String
        /// The name of a cluster.
        var secondary: String?
        var ports: [UInt16]?
    }

    struct Cluster: Codable, Sendable, Hashable {
        var name: String
        var relays: [Relay]
        /// PEM.
        var authorities: String?
    }

    struct Relay: Codable, Sendable, Hashable {
        var server: String
        var priority: Int?
    }

    struct Realm: Codable, Sendable, Hashable {
        var name: String
        var kdcs: [String]
    }

    struct TLS: Codable, Sendable, Hashable {
        var block: [String]?
        var floor: String?
    }

    var apps: [Application]?
    var users: [User]?
    var clusters: [Cluster]?
    var servers: [Server]?
    var routes: [Rule]?
    var tls: TLS?
    /// Of authentication.
    struct Authentication: Codable, Sendable, Hashable {
        /// Every scheme that is allowed.
        var allow: [String]?
    }

    var realms: [Realm]?
    var auth: Authentication?
    /// As `12h`.
    var lease: String?
    /// In the order in which they are considered.
    var defaultDomains: [String]?
}

extension Declaration {
    /// In bytes.
    static let maximumLength = 1 << 20

    /// Reads YAML strictly: unknown keys, aliases, and files over ``maximumLength`` are refused.
    init(yaml: String) throws(GatewayError) {
        guard yaml.utf8.count <= Self.maximumLength else {
            throw GatewayError(.invalid, "A declaration has at most 1 MiB.")
        }
        do {
            // Nodes hold their anchors weakly; the parser keeps them.
            let parser = try Parser(yaml: yaml)
            guard let node = try parser.singleRoot() else {
                self = Declaration()
                return
            }
            try withExtendedLifetime(parser) { try Self.checkKeys(of: node) }
            self = try YAMLDecoder().decode(Declaration.self, from: yaml)
        } catch let error as GatewayError {
            throw error
        } catch {
            throw GatewayError(.invalid, "The declaration is not valid: \(Self.reason(error))", underlying: error)
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "\(path(context)) has no \(key.stringValue)."
        case DecodingError.typeMismatch(_, let context):
            "\(path(context)) has another kind of value than it takes."
        case DecodingError.valueNotFound(_, let context): "\(path(context)) has no value."
        case DecodingError.dataCorrupted(let context): "\(path(context)): \(context.debugDescription)"
        // Without the line itself, which may hold an app's configuration.
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            "line \(mark.line), column \(mark.column): \(problem)."
        case YamlError.duplicatedKeysInMapping(_, let context): "line \(context.mark.line): a key occurs twice."
        default: "it is not YAML."
        }
    }

    private static func path(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
        return path.isEmpty ? "the file" : path.joined(separator: ".")
    }

    /// The permitted keys of each mapping, by the mapping's own key.
    private static let keys: [String: Set<String>] = [
        "": [
            "apps", "users", "clusters", "servers", "routes", "tls", "realms", "auth", "lease",
            "defaultDomains",
        ],
        "apps": [
            "id", "versions", "config", "policy", "detailedLogsOn", "preventUserDetailedLogs", "extraInfo",
        ],
        "users": ["name", "userPrincipalName", "entitlements"],
        "entitlements": ["app", "versions"],
        "clusters": ["name", "relays", "authorities"],
        "relays": ["server", "priority"],
        "servers": ["server", "app", "priority", "route", "secondary", "address"],
        "routes": ["domain", "route", "secondary", "ports"],
        "tls": ["block", "floor"],
        "realms": ["name", "kdcs"],
        "auth": ["allow"],
    ]

    private static func checkKeys(of node: Node, under name: String = "") throws(GatewayError) {
        // An alias needs an anchor, which comes first.
        guard node.anchor == nil else {
            throw GatewayError(.invalid, "The declaration has an anchor or an alias of YAML, which are not taken.")
        }
        if let sequence = node.sequence {
            for element in sequence { try checkKeys(of: element, under: name) }
        }
        guard let mapping = node.mapping else { return }
        for (key, value) in mapping {
            let text = key.string ?? "?"
            guard keys[name]?.contains(text) == true else {
                throw GatewayError(
                    .invalid, "The declaration has an unknown key \(text)\(name.isEmpty ? "" : " under \(name)").")
            }
            try checkKeys(of: value, under: text)
        }
    }

    func yaml() throws(GatewayError) -> String {
        do {
            let encoder = YAMLEncoder()
            encoder.options.sortKeys = false
            return try encoder.encode(self)
        } catch {
            throw GatewayError(.internalFailure, "The directory has no form in YAML.", underlying: error)
        }
    }
}

extension Directory {
    /// The directory in the form that `apply` accepts: without secrets, in a stable order.
    var declaration: Declaration {
        var declaration = Declaration()
        declaration.apps = applications.sorted { $0.key < $1.key }.map { id, app in
            Declaration.Application(
                id: id, versions: app.versions.sorted(), config: app.configuration.isEmpty ? nil : app.configuration,
                policy: app.policy == "{}" ? nil : app.policy, detailedLogsOn: app.logging?.isDetailed,
                preventUserDetailedLogs: app.logging?.isKeptFromUsers, extraInfo: app.extraInfo)
        }
        declaration.users = users.sorted { $0.key < $1.key }.map { name, user in
            let entitlements = user.entitlements.sorted { $0.key < $1.key }.map {
                Declaration.Entitlement(app: $0.key, versions: $0.value.sorted())
            }
            return Declaration.User(
                name: name, userPrincipalName: user.principalName,
                entitlements: entitlements.isEmpty ? nil : entitlements)
        }
        declaration.clusters = clusters.sorted { $0.key < $1.key }.map { name, relays in
            let relays = relays.map { Declaration.Relay(server: $0.endpoint, priority: $0.priority) }
            return Declaration.Cluster(name: name, relays: relays, authorities: clusterAuthorities?[name])
        }
        declaration.servers = servers.map { server in
            Declaration.Server(
                server: server.endpoint, app: server.application,
                priority: server.application == nil ? nil : server.priority, route: "\(server.route)",
                secondary: server.secondary, address: server.address)
        }
        let rules = domains.sorted { $0.key < $1.key } + [("default", defaultRoute)]
        declaration.routes = rules.map { name, rule in
            Declaration.Rule(
                domain: name, route: "\(rule.route)", secondary: rule.secondary, ports: rule.ports.sorted())
        }
        declaration.routes? += deniedNetworks.sorted().map {
            Declaration.Rule(domain: "\($0)", route: "\(Route.deny)")
        }
        declaration.tls = Declaration.TLS(block: blockedTLS.sorted().map(\.rawValue), floor: tlsFloor?.rawValue)
        declaration.realms = declaredRealms
        declaration.auth = declaredSchemes
        declaration.lease = declaredLease
        declaration.defaultDomains = defaultDomains
        return declaration
    }

    /// The directory with a declaration applied; with `prune`, without anything that the declaration does not name.
    /// Users that were there before keep their identifiers.
    func applying(_ declaration: Declaration, prune: Bool) throws(GatewayError) -> Directory {
        var result = prune ? Directory() : self
        try result.apply(declaration.clusters ?? [])
        try result.apply(declaration.apps ?? [])
        try result.apply(declaration.users ?? [], knowing: users)
        try result.apply(declaration.servers ?? [])
        try result.apply(declaration.routes ?? [])
        try Self.naming("tls") { () throws(GatewayError) in try result.apply(declaration.tls) }
        try result.apply(declaration.realms ?? [])
        try Self.naming("auth") { () throws(GatewayError) in try result.apply(declaration.auth) }
        if let lease = declaration.lease {
            try Self.naming("lease") { () throws(GatewayError) in try result.setLease(lease) }
        }
        if let domains = declaration.defaultDomains {
            try Self.naming("defaultDomains") { () throws(GatewayError) in try result.setDefaultDomains(domains) }
        }
        return result
    }

    /// Runs `body`, and says in its error which entry of the declaration is wrong; of a name that is too long to be one, its
    /// beginning.
    static func naming(_ entry: String, _ body: () throws(GatewayError) -> Void) throws(GatewayError) {
        do throws(GatewayError) { try body() } catch {
            throw GatewayError(error.code, "\(entry.prefix(300)): \(error.message)", underlying: error.underlying)
        }
    }

    private mutating func apply(_ declared: [Declaration.Rule]) throws(GatewayError) {
        for rule in declared {
            try Self.naming("Route \(rule.domain)") { () throws(GatewayError) in
                let ports = rule.ports.map(Set.init) ?? RoutingTable.defaultPorts
                try setRoute(
                    rule.domain, Domain(route: Self.route(rule.route), ports: ports, secondary: rule.secondary))
            }
        }
    }

    private mutating func apply(_ declared: Declaration.TLS?) throws(GatewayError) {
        if let block = declared?.block {
            var versions: Set<TLSVersion> = []
            for text in block { versions.insert(try Self.tlsVersion(text)) }
            blockedTLS = versions
        }
        if let floor = declared?.floor { tlsFloor = try Self.tlsVersion(floor) }
    }

    private mutating func apply(_ declared: [Declaration.Cluster]) throws(GatewayError) {
        for cluster in declared {
            // As with an app's and a user's settings, what an entry does not name stays: without its own authorities the
            // cluster would trust the gateway's.
            let authorities = cluster.authorities ?? clusterAuthorities?[cluster.name]
            try Self.naming("Cluster \(cluster.name)") { () throws(GatewayError) in
                try setCluster(
                    cluster.name, cluster.relays.map { Relay(endpoint: $0.server, priority: $0.priority ?? 1) },
                    authorities: authorities)
            }
        }
    }

    private mutating func apply(_ declared: [Declaration.Application]) throws(GatewayError) {
        for app in declared {
            try Self.naming("App \(app.id)") { () throws(GatewayError) in try apply(app) }
        }
    }

    private mutating func apply(_ app: Declaration.Application) throws(GatewayError) {
        for version in app.versions where applications[app.id]?.versions.contains(version) != true {
            try addApplication(app.id, version: version)
        }
        if let text = app.config { try configure(app.id, text: text) }
        if let policy = app.policy { try setPolicy(app.id, json: policy) }
        if app.detailedLogsOn != nil || app.preventUserDetailedLogs != nil {
            try setLogging(of: app.id, isDetailed: app.detailedLogsOn, isKeptFromUsers: app.preventUserDetailedLogs)
        }
        if let json = app.extraInfo { try setExtraInfo(json, of: app.id) }
    }

    private mutating func apply(
        _ declared: [Declaration.User], knowing known: [String: User]
    ) throws(GatewayError) {
        for user in declared {
            let id = known[user.name]?.id ?? UserIdentifier()
            try Self.naming("User \(user.name)") { () throws(GatewayError) in try apply(user, id: id) }
        }
    }

    /// - Parameter id: of a user who is not there yet.
    private mutating func apply(_ user: Declaration.User, id: UserIdentifier) throws(GatewayError) {
        if users[user.name] == nil { try addUser(user.name, id: id) }
        if let name = user.userPrincipalName { try setPrincipalName(name, of: user.name) }
        for entitlement in user.entitlements ?? [] {
            for version in entitlement.versions { try entitle(user.name, to: entitlement.app, version: version) }
        }
    }

    private mutating func apply(_ declared: [Declaration.Server]) throws(GatewayError) {
        for server in declared {
            try Self.naming("Server \(Self.shown(server.server))") { () throws(GatewayError) in
                guard server.priority == nil || server.app != nil else {
                    throw GatewayError(.invalid, "A priority is for a server of an app: add `app`.")
                }
                try addServer(
                    Server(
                        endpoint: server.server, application: server.app, priority: server.priority ?? 1,
                        route: Self.route(server.route ?? "relay"), address: server.address,
                        secondary: server.secondary))
            }
        }
    }

    /// A server's address for a message: without the user and the password of a URL that was given for it.
    private static func shown(_ address: String) -> Substring {
        guard let sign = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return address[...] }
        return address[address.utf8.index(after: sign)...]
    }

    static func route(_ text: String) throws(GatewayError) -> Route {
        guard let route = Route(text) else {
            throw GatewayError(.invalid, "A route is relay, relay:CLUSTER, direct or deny.")
        }
        return route
    }

    static func tlsVersion(_ text: String) throws(GatewayError) -> TLSVersion {
        guard let version = TLSVersion(rawValue: text.hasPrefix("TLS") ? text : "TLS\(text)") else {
            throw GatewayError(.invalid, "A TLS version is TLS1.0, TLS1.1, TLS1.2 or TLS1.3.")
        }
        return version
    }

    /// One line for each difference, beginning with `+` or `-`.
    func difference(to new: Directory) -> [String] {
        let (before, after) = (lines, new.lines)
        return before.subtracting(after).sorted().map { "- \($0)" }
            + after.subtracting(before).sorted().map { "+ \($0)" }
    }

    private var lines: Set<String> {
        var lines: Set<String> = []
        for (id, app) in applications {
            for version in app.versions { lines.insert("app \(id) \(version)") }
            if !app.configuration.isEmpty { lines.insert("app \(id) config of \(app.configuration.utf8.count) bytes") }
            if app.policy != "{}" { lines.insert("app \(id) policy of \(app.policy.utf8.count) bytes") }
            if let logging = app.logging { lines.insert("app \(id) \(logging.line)") }
            if let json = app.extraInfo { lines.insert("app \(id) extra information of \(json.utf8.count) bytes") }
        }
        for (name, user) in users {
            lines.insert("user \(name)")
            if let principalName = user.principalName { lines.insert("user \(name) principal \(principalName)") }
            for (app, versions) in user.entitlements {
                for version in versions { lines.insert("user \(name) entitled to \(app) \(version)") }
            }
        }
        for server in servers {
            let app = server.application.map { " app \($0) priority \(server.priority)" } ?? ""
            let address = server.address.map { " at \($0)" } ?? ""
            let second = Self.second(server.secondary)
            lines.insert("server \(server.endpoint) \(server.route)\(second)\(app)\(address)")
        }
        for (name, rule) in domains.merging(["default": defaultRoute], uniquingKeysWith: { $1 }) {
            let ports = rule.ports.sorted().map(String.init).joined(separator: ",")
            lines.insert("route \(name) \(rule.route)\(Self.second(rule.secondary)) ports \(ports)")
        }
        for network in deniedNetworks { lines.insert("route \(network) \(Route.deny)") }
        for (name, relays) in clusters {
            let text = relays.map { "\($0.endpoint),\($0.priority)" }.joined(separator: " ")
            lines.insert("cluster \(name) \(text)")
            let authorities = try? self.authorities(of: name)
            for fingerprint in authorities?.fingerprints ?? [] {
                lines.insert("cluster \(name) authority \(fingerprint)")
            }
        }
        for version in blockedTLS { lines.insert("tls block \(version)") }
        if let tlsFloor { lines.insert("tls floor \(tlsFloor)") }
        for scheme in schemes { lines.insert("auth \(scheme)") }
        if let declaredLease { lines.insert("lease \(declaredLease)") }
        if let defaultDomains { lines.insert("default domains \(defaultDomains.joined(separator: " "))") }
        for (name, kdcs) in realms { lines.insert("realm \(name) \(kdcs.joined(separator: " "))") }
        return lines
    }

    private static func second(_ cluster: String?) -> String {
        cluster.map { ", else \(Route.relay(cluster: $0))" } ?? ""
    }
}
