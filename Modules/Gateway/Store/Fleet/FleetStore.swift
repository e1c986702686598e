internal import Foundation
internal import SallyportWire

/// The store of a fleet of gateways, in a database that they share.
///
/// Revisions are numbered under the lock of the table `fleet`'s only row, which every announced change takes last: so they
/// are numbered in the order of the commits, which a sequence of the database would not do. A transaction locks the
/// directory first, then instances or access keys, then the fleet; so no two wait for each other.
///
/// An actor for what it has seen of the database, by which it notices one that was put back.
actor FleetStore: GatewayStore {
    let database: any FleetDatabase
    let key: FleetKey
    /// The newest revision that was seen.
    private var newest: Int64 = 0
    /// The number of changes in the newest record that was seen of each instance.
    private var updates: [InstanceIdentifier: Int64] = [:]
    /// The channel on which the database says that there is a new revision.
    static let channel = "sallyport"

    init(_ database: any FleetDatabase, key: FleetKey) { (self.database, self.key) = (database, key) }

    /// Makes the tables and writes the first state.
    ///
    /// - Throws: `alreadyInitialized` if there is a fleet.
    static func initialize(_ database: any FleetDatabase, key: FleetKey, _ authorities: AuthorityRecord) async throws {
        try await database.transaction(.write) { transaction in
            let found = try await transaction.run("SELECT count(*) FROM pg_class WHERE oid = to_regclass('fleet')", [])
            if try found.first?.integer(0) == 1 {
                throw GatewayError(.alreadyInitialized, "There is a fleet in the database already.")
            }
            for statement in FleetSchema.steps.joined() { try await transaction.run(statement, []) }
            try await transaction.run(
                "INSERT INTO fleet (id, revision, feature_level) VALUES ($1, 1, \(FleetSchema.level))",
                [.text(UUID().uuidString.lowercased())])
            try await transaction.run(
                "INSERT INTO directory (revision, body) VALUES (1, $1)",
                [key.seal(Directory(), table: "directory", row: "1")])
            try await transaction.run(
                "INSERT INTO authority (revision, body) VALUES (1, $1)",
                [key.seal(authorities, table: "authority", row: "1")])
        }
    }

    func news() -> AsyncStream<Void> { database.notifications(of: Self.channel) }

    func close() async { await database.close() }

    /// Notes what a transaction has seen.
    private func note(_ revision: Int64, _ records: [InstanceRecord] = []) {
        newest = max(newest, revision)
        for record in records {
            let id = record.name.instance
            updates[id] = max(updates[id] ?? 0, record.updates ?? 0)
        }
    }
}

// MARK: Following

extension FleetStore {
    func changes(after revision: Int64?) async throws -> StoredChanges {
        let (after, key) = (revision ?? 0, key)
        // As of before the transaction: what is committed meanwhile may be newer than what it sees.
        let (newest, updates) = (newest, updates)
        let changes = try await database.transaction(.read) { transaction in
            let now = try await transaction.revision()
            guard now >= newest else { throw Self.wasPutBack(now, newest) }
            var changes = StoredChanges(revision: now)
            changes.directory = try await transaction.single("directory", after: after, key)
            changes.authorities = try await transaction.single("authority", after: after, key)
            let rows = try await transaction.run(
                "SELECT id, epoch, last_seen, body FROM instance WHERE revision > $1", [.integer(after)])
            changes.instances = try rows.map(key.openInstance)
            for record in changes.instances where record.updates ?? 0 < updates[record.name.instance] ?? 0 {
                throw Self.wasPutBack(record)
            }
            return changes
        }
        note(changes.revision, changes.instances)
        return changes
    }

    private static func wasPutBack(_ revision: Int64, _ newest: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database is at revision \(revision) and was at \(newest) before: it was put back, or it is an old primary "
                + "that has woken. What is known stays in force, and nothing is written.")
    }

    private static func wasPutBack(_ record: InstanceRecord) -> GatewayError {
        GatewayError(
            .store,
            "The record of instance \(record.name.instance) in the database is older than one that was read before. What "
                + "is known stays in force, and nothing is written.")
    }
}

// MARK: Policy

extension FleetStore {
    func revise(
        _ known: Revised<Directory>, at now: Date, _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision {
        let (key, newest) = (key, newest)
        let (outcome, ended) = try await database.transaction(.write) {
            transaction -> (DirectoryRevision, [InstanceRecord]) in
            let old = try await transaction.directory(key, known: known, lock: "FOR UPDATE")
            let edited = try edit(old)
            let lost = old.grantsLost(in: edited.directory)
            let ending = try await transaction.holders(of: lost, key).filter { $0.ended == nil }
            guard ending.isEmpty || edited.isConfirmed else { return (.unconfirmed(ending), []) }
            try await transaction.destroyKeys(of: lost, key)
            // The lock on the fleet is held from here on.
            let revision = try await transaction.advance(from: newest)
            let ended = ending.map { $0.ended(under: edited.directory, at: now) }
            for record in ended { try await transaction.keep(record, key, revision: revision) }
            try await transaction.run(
                "UPDATE directory SET revision = $1, body = $2",
                [.integer(revision), key.seal(edited.directory, table: "directory", row: "\(revision)")])
            return (.done(revision, edited), ended)
        }
        if case .done(let revision, _) = outcome { note(revision, ended) }
        return outcome
    }

    func revise(_ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?) async throws -> Int64? {
        let (key, newest) = (key, newest)
        let revision = try await database.transaction(.write) { transaction -> Int64? in
            let rows = try await transaction.run("SELECT revision, body FROM authority FOR UPDATE", [])
            guard let row = rows.first else { throw FleetTables.missing("authority") }
            let old: Revised<AuthorityRecord> = try key.openSingle(row, table: "authority")
            guard let new = try edit(old.value) else { return nil }
            let revision = try await transaction.advance(from: newest)
            try await transaction.run(
                "UPDATE authority SET revision = $1, body = $2",
                [.integer(revision), key.seal(new, table: "authority", row: "\(revision)")])
            return revision
        }
        if let revision { note(revision) }
        return revision
    }
}

// MARK: Instances

extension FleetStore {
    func change<Value: Sendable>(
        _ id: InstanceIdentifier, _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let (key, newest, least) = (key, newest, updates[id] ?? 0)
        let change = try await database.transaction(.write) { transaction -> InstanceChange<Value> in
            let old = try await transaction.record(id, key)
            guard old.updates ?? 0 >= least else { throw Self.wasPutBack(old) }
            var record = old
            let value = try edit(&record)
            guard record != old else { return InstanceChange(record: old, value: value, revision: nil) }
            record.countUpdate()
            let revision = record.isAnnounced(after: old) ? try await transaction.advance(from: newest) : nil
            try await transaction.keep(record, key, revision: revision)
            return InstanceChange(record: record, value: value, revision: revision)
        }
        note(change.revision ?? 0, [change.record])
        return change
    }

    /// The fleet's revision is read once the instance's row is locked: no other gateway takes an epoch of it in between.
    func nextEpoch(of id: InstanceIdentifier, atLeast least: Int64, seen: Date?) async throws -> GrantedEpoch {
        let granted = try await database.transaction(.write) { transaction -> GrantedEpoch in
            let rows = try await transaction.run(
                """
                UPDATE instance SET epoch = GREATEST(epoch + 1, $2), last_seen = GREATEST(last_seen, $3::bigint)
                WHERE id = $1 RETURNING epoch
                """,
                [.text(id.description), .integer(least), seen.map { .integer($0.milliseconds) } ?? .null])
            guard let epoch = try rows.first?.integer(0) else { throw InstanceRecord.unknown(id) }
            return GrantedEpoch(epoch: epoch, revision: try await transaction.revision())
        }
        guard granted.revision >= newest else { throw Self.wasPutBack(granted.revision, newest) }
        return granted
    }

    func newestEpoch() async throws -> Int64 {
        try await database.transaction(.read) { transaction in
            try await transaction.run("SELECT COALESCE(max(epoch), 0) FROM instance", []).first?.integer(0) ?? 0
        }
    }
}

// MARK: Access keys

extension FleetStore {
    func add(_ record: AccessKeyRecord, under digest: [UInt8]) async throws {
        let key = key
        _ = try await database.transaction(.write) { transaction in
            try await transaction.run(
                "INSERT INTO access_key (digest, holder, body) VALUES ($1, $2, $3)",
                [.bytes(digest), key.holder(record.grant), key.seal(record, under: digest)])
        }
    }

    func accessKey(under digest: [UInt8]) async throws -> AccessKeyRecord? {
        let key = key
        return try await database.transaction(.read) { transaction in
            try await transaction.run("SELECT body FROM access_key WHERE digest = $1", [.bytes(digest)]).first.map {
                try key.openKey($0.bytes(0), under: digest)
            }
        }
    }

    func accessKeys() async throws -> [AccessKeyRecord] {
        let key = key
        return try await database.transaction(.read) { transaction in
            try await transaction.run("SELECT digest, body FROM access_key", []).map {
                try key.openKey($0.bytes(1), under: $0.bytes(0))
            }
        }
    }

    func consume(
        _ digest: [UInt8], for use: AccessKeyRecord.Use, by instance: InstanceRecord, known: Revised<Directory>,
        _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption {
        let (key, newest) = (key, newest)
        let consumption = try await database.transaction(.write) { transaction -> Consumption in
            // A removal waits for this transaction, or this one for the removal.
            let directory = try await transaction.directory(key, known: known, lock: "FOR SHARE")
            let rows = try await transaction.run(
                "SELECT body FROM access_key WHERE digest = $1 FOR UPDATE", [.bytes(digest)])
            guard let row = rows.first else { throw AccessKeyRecord.refusal }
            var record: AccessKeyRecord = try key.openKey(row.bytes(0), under: digest)
            if let earlier = try record.earlier(than: use) { return .repeated(earlier) }
            try check(directory, record)
            record.use = use
            try await transaction.run(
                "UPDATE access_key SET is_used = true, body = $2 WHERE digest = $1",
                [.bytes(digest), key.seal(record, under: digest)])
            let revision = try await transaction.advance(from: newest)
            try await transaction.add(instance, key, revision: revision)
            return .made(revision)
        }
        if case .made(let revision) = consumption { note(revision) }
        return consumption
    }

    func removeAccessKeys(
        _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int {
        let key = key
        return try await database.transaction(.write) { transaction in
            let rows = try await transaction.run("SELECT digest, body FROM access_key FOR UPDATE", [])
            let keys = try rows.map { row -> (digest: [UInt8], record: AccessKeyRecord) in
                let digest = try row.bytes(0)
                return (digest, try key.openKey(row.bytes(1), under: digest))
            }
            let chosen = try choice(keys.map(\.record))
            for (digest, record) in keys where chosen.contains(record.id) {
                try await transaction.run("DELETE FROM access_key WHERE digest = $1", [.bytes(digest)])
            }
            return chosen.count
        }
    }
}
