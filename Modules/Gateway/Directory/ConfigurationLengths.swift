internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// The most bytes that the configurations under a directory have, by app.
///
/// No configuration is made for it: what all apps share is encoded once, and of each app only what it alone has. So it
/// costs one pass over the directory, as does the encoding by which the directory is stored with each change. By
/// estimate, 1,000 apps and as many servers take 20 ms, as many servers, domains and networks as there may be 100 ms,
/// and 100,000 users 50 ms. To encode what is shared for each of 1,000 apps would take a minute.
struct ConfigurationLengths: Sendable {
    static let limit = ConfigurationDocument.Limits.document

    /// What all apps share, with room for what does not come from the directory.
    private let shared: Int
    private let applications: [String: Int]
    /// Of the user who takes the most.
    private let users: [String: Int]

    /// - Parameter authority: the length of the gateway's authorities' certificates, of the longest one.
    init(_ directory: Directory, authority: Int) throws {
        var shared = try Self.shared(of: directory) + Self.room(of: directory, authority)
        var own = try directory.applications.mapValues { try Self.length(of: $0) }
        var replaceable: [String: Int] = [:]
        for server in directory.servers where server.application == nil {
            let length = try Self.length(of: server)
            shared += length
            if server.route != .deny { replaceable[server.endpoint] = length }
        }
        for server in directory.servers {
            guard let application = server.application else { continue }
            // An app's own entry takes the place of the one for all apps.
            let length = try Self.length(of: server) - (replaceable[server.endpoint] ?? 0)
            own[application, default: 0] += length
        }
        (self.shared, applications, users) = (shared, own, Self.users(of: directory))
    }

    /// - Parameter application: nil for what is in the configurations of all apps.
    subscript(application: String?) -> Int {
        guard let application else { return shared }
        return shared + (applications[application] ?? 0) + (users[application] ?? 0)
    }
}

// MARK: Parts

extension ConfigurationLengths {
    /// Without servers, and without certificates.
    private static func shared(of directory: Directory) throws -> Int {
        guard let id = EntitlementIdentifier("a"), let version = EntitlementVersion("0") else {
            throw GatewayError(.internalFailure, "version")
        }
        var document = ConfigurationDocument(
            aud: InstanceIdentifier(), epoch: 1, iat: 1, leaseEnd: 1, entitlement: .init(id: id, version: version),
            user: .init(id: ""), trust: .init(authorities: []))
        try directory.tell(&document)
        document.clusters = try directory.clusters.map { name, relays in
            .init(
                name: name, relays: try relays.map { .init(try Endpoint($0.endpoint), priority: $0.priority) },
                authorities: [])
        }
        return try document.sharedLength()
    }

    private static func length(of application: Directory.Application) throws -> Int {
        try WireJSON.encode(ConfigurationDocument.Application(application)).count
            + WireJSON.longestEncoding(of: Array(application.policy.utf8))
    }

    /// With a comma.
    private static func length(of server: Directory.Server) throws -> Int {
        try WireJSON.encode(ConfigurationDocument.Server(server)).count + 1
    }

    private static func users(of directory: Directory) -> [String: Int] {
        var longest: [String: Int] = [:]
        for (name, user) in directory.users {
            let length = Self.length(of: user, named: name)
            for application in user.entitlements.keys { longest[application] = max(longest[application] ?? 0, length) }
        }
        return longest
    }

    /// Of names each byte may take two; of the rest, each app has `{"id":"","versions":[]},` and each version `"",`.
    private static func length(of user: Directory.User, named name: String) -> Int {
        var length = 2 * (name.utf8.count + (user.principalName?.utf8.count ?? 0))
        for (application, versions) in user.entitlements {
            length += application.utf8.count + 24
            for version in versions { length += version.utf8.count + 3 }
        }
        return length
    }
}

// MARK: Room

extension ConfigurationLengths {
    /// The claims of the instance, and the names of all members.
    private static let claims = 2_048
    /// A gateway or a relay: a host name of 253 bytes, a port, a priority.
    private static let place = 300
    /// The control listeners and relays of all gateways, and the relays on machines of their own.
    private static let places = 2 * GatewayRecord.limit + RelayTable.limit
    /// How much longer the certificate of the next authority may be, whose name has a suffix.
    private static let suffix = 32

    /// The most that there comes to be of what the directory does not say. Gateways and relays are added, and
    /// authorities announced, at any time, and apps must still get their configurations then.
    private static func room(of directory: Directory, _ authority: Int) -> Int {
        let certificate = (authority + suffix + 2) / 3 * 4 + 3
        let own = directory.clusterAuthorities ?? [:]
        // Each cluster without its own authorities has the gateway's, and so has the gateway's cluster; of `trust`,
        // there are authorities and endorsements.
        let lists = directory.clusters.count - own.count + 1 + 2
        // Their text in PEM is longer than the base64 in it.
        let authorities = own.values.reduce(0) { $0 + $1.utf8.count }
        return claims + places * place + lists * ConfigurationDocument.Limits.authorities * certificate + authorities
    }
}

// MARK: The check

extension Directory {
    /// Checks that every app can be told what this directory says to it.
    ///
    /// An older directory may say more than that. It can be changed as long as no configuration that is too long
    /// becomes longer, so that what is too much can be removed step by step.
    ///
    /// - Parameters:
    ///   - old: the directory that this one replaces.
    ///   - authority: as ``ConfigurationLengths`` takes it.
    /// - Throws: `invalid`.
    func checkLengths(after old: Directory, authority: Int) throws {
        let lengths = try ConfigurationLengths(self, authority: authority)
        let all: [String?] = [nil] + applications.keys.sorted().map(Optional.some)
        let tooLong = all.filter { lengths[$0] > ConfigurationLengths.limit }
        guard !tooLong.isEmpty else { return }
        let before = try ConfigurationLengths(old, authority: authority)
        guard let grown = tooLong.first(where: { lengths[$0] > before[$0] }) else { return }
        throw Self.isTooLong(grown, lengths[grown])
    }

    private static func isTooLong(_ application: String?, _ length: Int) -> GatewayError {
        let limit = "up to \(length) bytes, and at most \(ConfigurationLengths.limit) are taken"
        guard let application else {
            return GatewayError(
                .invalid,
                "The configuration of every app would have \(limit): there is too much in servers, routes, clusters "
                    + "and realms.")
        }
        return GatewayError(
            .invalid,
            "The configuration of app \(application) would have \(limit): there is too much in servers, routes, "
                + "clusters, realms, its own texts, and what one of its users is entitled to.")
    }
}
