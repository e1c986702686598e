internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire

// How a gateway's data begin: alone, as the first of a fleet, or as another one of it.
extension GatewayData {
    /// Creates the data of a new gateway in an empty store: its authority, its certificates, and an empty directory that
    /// denies everything.
    ///
    /// - Parameter membership: of the fleet whose empty database takes what gateways share; nil for a gateway that
    ///   stands alone.
    /// - Parameter owner: of the database, as the role that makes the tables.
    static func initialize(
        _ store: SecureStore, name: String, in membership: FleetMembership? = nil,
        asOwner owner: String? = nil, through databases: DatabaseOpener? = nil
    ) async throws {
        let host = try host(name)
        let now = Date()
        let record = AuthorityRecord(present: try CertificateAuthority.create(name: host, now: now))
        let identities = try OwnIdentities(host: host, under: Authorities(record), at: now)
        if let membership {
            let maker = FleetMembership(url: owner ?? membership.url, key: membership.key)
            try await maker.withStore(through: databases) { database, key in
                try await FleetStore.initialize(database, key: key, record)
            }
        }
        let (own, embedded) = (OwnStore(store), membership == nil ? EmbeddedCollections(store) : nil)
        try await store.write { transaction in
            if let embedded { try transaction.begin(with: record, embedded) }
            try own.begin(with: .init(host: host), identities, of: membership, in: transaction)
        }
    }

    /// Creates the data of a gateway that takes part in a fleet which exists.
    static func join(
        _ membership: FleetMembership, _ store: SecureStore, name: String, through databases: DatabaseOpener?
    ) async throws {
        let host = try host(name)
        let state = try await membership.withStore(through: databases) { database, key in
            try await FleetSchema.upgrade(database, key)
            return try await FleetStore(database, key: key).changes(after: nil)
        }
        guard let record = state.authorities?.value else { throw FleetTables.missing("authority") }
        // Before there is a certificate under the name; it is looked at again when the gateway tells of itself.
        try state.relays?.value.check(besideGatewayNamed: [Host(host)])
        let identities = try OwnIdentities(host: host, under: Authorities(record), at: Date())
        let own = OwnStore(store)
        try await store.write { try own.begin(with: .init(host: host), identities, of: membership, in: $0) }
    }

    /// - Throws: `invalid` for a name that a gateway cannot have.
    static func check(name: String) throws(GatewayError) { _ = try host(name) }

    private static func host(_ name: String) throws(GatewayError) -> String {
        guard let host = (try? Host(name))?.bareText else {
            throw GatewayError(
                .invalid, "A gateway's name is the host name by which apps reach it, which '\(name)' is not.")
        }
        return host
    }

    /// Reads the data of a gateway.
    ///
    /// - Parameters:
    ///   - store: the gateway's own.
    ///   - databases: opens the database of its fleet, if it takes part in one.
    ///   - clock: the wall clock.
    static func open(
        _ store: SecureStore, through databases: DatabaseOpener? = nil, clock: @escaping @Sendable () -> Date
    ) async throws -> GatewayData {
        let own = OwnStore(store)
        guard let membership = try own.membership() else {
            return try await GatewayData(EmbeddedStore(store), own: own, clock: clock)
        }
        let (database, key) = try membership.open(through: databases)
        do {
            try await FleetSchema.upgrade(database, key)
            return try await GatewayData(FleetStore(database, key: key), own: own, clock: clock)
        } catch {
            await database.close()
            throw error
        }
    }
}

/// Opens a database by its URL.
package typealias DatabaseOpener = @Sendable (String) throws -> any FleetDatabase

extension FleetMembership {
    func open(through databases: DatabaseOpener?) throws -> (database: any FleetDatabase, key: FleetKey) {
        guard let databases else {
            throw GatewayError(
                .invalid, "This gateway shares a database: it needs a program that was built with the trait PostgreSQL."
            )
        }
        guard let key = FleetKey(key) else {
            throw GatewayError(.invalid, "The key of a fleet has \(FleetKey.length) bytes.")
        }
        return (try databases(url), key)
    }

    /// Runs `body` with the database, which is closed afterwards.
    func withStore<Value: Sendable>(
        through databases: DatabaseOpener?, _ body: (any FleetDatabase, FleetKey) async throws -> Value
    ) async throws -> Value {
        let (database, key) = try open(through: databases)
        do {
            let value = try await body(database, key)
            await database.close()
            return value
        } catch {
            await database.close()
            throw error
        }
    }
}

extension GatewaySettings {
    fileprivate init(host: String) {
        self.init(name: host, controlPort: ControlAPI.defaultPort, relayPort: ControlAPI.defaultRelayPort)
    }
}

// MARK: Invitations

extension GatewayData {
    /// Invites another gateway into the fleet.
    ///
    /// - Parameter request: as the other gateway printed it.
    func invitation(for request: String, _ note: AuditNote) async throws -> String {
        guard let membership = try own.membership() else {
            throw GatewayError(
                .invalid, "This gateway stands alone: `gateway init --database` makes one that others can join.")
        }
        let text = try Invitation.text(of: membership, for: JoinRequest(request))
        // Before it is handed out.
        if let event = note.event() { try await store.append(event) }
        return text
    }
}
