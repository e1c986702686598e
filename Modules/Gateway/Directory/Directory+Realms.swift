internal import SallyportCore

// Kerberos realms and their KDCs. A realm lists no servers: the route of a KDC decides whether apps reach it.
extension Directory {
    /// The most realms, and KDCs of each.
    enum RealmLimits {
        static let realms = 256
        static let kdcs = 8
        /// The longest name, in bytes.
        static let name = 255
    }

    /// The KDCs of each, HOST:PORT, in the order in which they are tried.
    var realms: [String: [String]] {
        get { kdcs ?? [:] }
        set { kdcs = newValue.isEmpty ? nil : newValue }
    }

    mutating func addRealm(_ name: String, kdc: String) throws(GatewayError) {
        guard Self.isRealm(name) else {
            throw GatewayError(
                .invalid, "A realm has 1 to \(RealmLimits.name) visible characters of ASCII, without @, / and \\.")
        }
        let endpoint = try Self.kdc(kdc).description
        guard realms[name] != nil || realms.count < RealmLimits.realms else {
            throw GatewayError(.invalid, "There are \(RealmLimits.realms) realms already, the most.")
        }
        let known = realms[name, default: []]
        guard !known.contains(endpoint) else { throw GatewayError(.exists, "\(endpoint) is a KDC of \(name) already.") }
        guard known.count < RealmLimits.kdcs else {
            throw GatewayError(.invalid, "\(name) has \(RealmLimits.kdcs) KDCs already, the most.")
        }
        realms[name] = known + [endpoint]
    }

    mutating func removeRealm(_ name: String) throws(GatewayError) {
        guard realms.removeValue(forKey: name) != nil else {
            throw GatewayError(.notFound, "No realm \(name): `admin realm list` shows them.")
        }
    }

    static func kdc(_ text: String) throws(GatewayError) -> Endpoint {
        do { return try Endpoint(text, defaultPort: 88) } catch {
            throw GatewayError(.invalid, "A KDC is HOST or HOST:PORT. \(error.message)", underlying: error)
        }
    }

    private static func isRealm(_ name: String) -> Bool {
        (1...RealmLimits.name).contains(name.utf8.count)
            && name.utf8.allSatisfy { 33..<127 ~= $0 && !"@/\\".utf8.contains($0) }
    }

    /// A warning about a KDC's route; nil if apps can reach it.
    func warning(ofKDC endpoint: Endpoint) -> String? {
        let decision = routingTable(for: nil).decide(endpoint)
        guard decision.route == .deny else { return nil }
        return "No app reaches the KDC: \(decision). `admin server add \(endpoint)` lists it."
    }

    mutating func apply(_ declared: [Declaration.Realm]) throws(GatewayError) {
        for realm in declared {
            try Self.naming("Realm \(realm.name)") { () throws(GatewayError) in
                for kdc in realm.kdcs {
                    let endpoint = try Self.kdc(kdc).description
                    if realms[realm.name]?.contains(endpoint) != true { try addRealm(realm.name, kdc: kdc) }
                }
            }
        }
    }

    var declaredRealms: [Declaration.Realm]? {
        realms.isEmpty
            ? nil : realms.sorted { $0.key < $1.key }.map { Declaration.Realm(name: $0.key, kdcs: $0.value) }
    }
}
