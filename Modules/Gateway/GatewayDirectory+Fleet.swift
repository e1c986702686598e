internal import Foundation
package import SallyportBase
package import SallyportSecureStore
internal import SallyportWire

// What an administrator does with a fleet whose database or gateways were lost.
extension GatewayDirectory {
    /// Puts the database of a gateway's fleet into force, after it was restored from a backup. No gateway of the fleet may
    /// run.
    ///
    /// - Parameter isConfirmed: without, nothing is changed.
    package static func restoreFleet(
        _ path: String, isConfirmed: Bool, protectedBy protector: any KeyProtector, through databases: DatabaseOpener?
    ) async throws -> FleetRestoration {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        defer { store.close() }
        let (own, content, membership) = try fleet(of: store, at: path)
        let known = try own.mark()?.revision
        var event = AuditEvent(.administration, by: .processUser(), at: Date())
        (event[.gateway], event[.action]) = (content.settings.name, "fleet.restored")
        let note = AuditNote(event)
        return try await membership.withStore(through: databases) { database, key in
            let fleet = FleetStore(database, key: key)
            guard isConfirmed else {
                return FleetRestoration(found: try await fleet.statedRevision(), known: known)
            }
            // A backup may be of an earlier version.
            try await FleetSchema.upgrade(database, key)
            return try await fleet.restore(since: known, audit: note)
        }
    }

    /// What an administrator should know of a fleet's database; nil for nothing.
    package static func warning(ofDatabase url: String, through databases: DatabaseOpener?) async -> String? {
        guard let database = try? databases?(url) else { return nil }
        let warning = await database.warning()
        await database.close()
        return warning
    }

    private static func fleet(
        of store: SecureStore, at path: String
    ) throws -> (OwnStore, OwnStore.Content, FleetMembership) {
        let own = OwnStore(store)
        guard let content = try own.content() else {
            throw GatewayError(.notInitialized, "The store at \(path) is not the data of a gateway.")
        }
        guard let membership = try own.membership() else {
            throw GatewayError(.invalid, "The gateway at \(path) stands alone: it shares no database.")
        }
        return (own, content, membership)
    }

    /// Makes the tables of this version from those of an earlier one, as the role that owns them.
    ///
    /// - Parameter owner: the URL of the fleet's database with that role.
    /// - Returns: the level of the tables.
    package static func upgradeFleet(
        _ path: String, asOwner owner: String, protectedBy protector: any KeyProtector,
        through databases: DatabaseOpener?
    ) async throws -> Int64 {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        defer { store.close() }
        let (own, _, membership) = try fleet(of: store, at: path)
        let mark = try own.mark()
        return try await FleetMembership(url: owner, key: membership.key).withStore(through: databases) {
            database, key in
            // Another database of the owner's is not to be taken for the fleet's.
            let found = try await FleetStore(database, key: key).statedRevision()
            try FleetEra.check(found, since: mark?.revision ?? 0)
            return try await FleetSchema.upgrade(database, key)
        }
    }

    /// Takes the fleet's database at another URL from now on. The gateway must not run.
    ///
    /// - Throws: `store` if the database there is not the fleet's, or is older than what the gateway has seen of it;
    ///   `unreachable`. Then nothing is changed.
    /// - Returns: the revision of the database.
    package static func moveFleet(
        _ path: String, to url: String, protectedBy protector: any KeyProtector, through databases: DatabaseOpener?
    ) async throws -> Int64 {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        defer { store.close() }
        let (own, _, membership) = try fleet(of: store, at: path)
        let (moved, known) = (FleetMembership(url: url, key: membership.key), try own.mark())
        let changes = try await moved.withStore(through: databases) { database, key in
            try await FleetStore(database, key: key).changes(after: nil)
        }
        if let now = changes.mark { try known?.check(isBefore: now) }
        try await own.keep(moved)
        return changes.revision
    }

    /// Creates a gateway in a directory, which is created if it is missing, that takes part in the fleet of a database: if
    /// no gateway is left that could invite it.
    ///
    /// - Parameter recoveryKey: as ``initialize(_:name:protectedBy:database:through:)`` returned it.
    package static func recover(
        _ path: String, name: String, database url: String, recoveryKey: Redacted<String>,
        protectedBy protector: any KeyProtector, through databases: DatabaseOpener?
    ) async throws {
        guard let key = try? Base64URL.decode(recoveryKey.reveal().utf8), FleetKey(key) != nil else {
            throw GatewayError(.invalid, "This is no recovery key of a fleet: `gateway init --database` printed it.")
        }
        let store = try await openEmpty(path, protectedBy: protector)
        defer { store.close() }
        try await GatewayData.join(FleetMembership(url: url, key: key), store, name: name, through: databases)
    }
}
