internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

/// The store of a fleet of gateways, in a database that they share.
///
/// Revisions are numbered under the lock of the table `fleet`'s only row, which every announced change takes last: so they
/// are numbered in the order of the commits, which a sequence of the database would not do. A transaction locks the
/// directory first, then instances or access keys, then the fleet, then the end of the audit trail; so no two wait for
/// each other.
///
/// An actor for what it has seen of the database, by which it notices one that was put back.
actor FleetStore: GatewayStore {
    let database: any FleetDatabase
    let key: FleetKey
    /// The newest revision that was seen.
    private(set) var newest: Int64 = 0
    /// The state that was followed.
    private var followed = FleetFollowed()
    /// The number of changes in the newest record that was seen of each instance.
    private(set) var updates: TreeDictionary<InstanceIdentifier, Int64> = [:]
    /// The numbers of the newest entries that this gateway has added in the transactions of the changes which they
    /// tell, by chain.
    private(set) var auditedNumbers: [String: Int64] = [:]
    private let (audits, audit) = AsyncStream.makeStream(of: AuditEntry.self, bufferingPolicy: .bufferingOldest(4096))
    /// The newest revision that was seen of each gateway's record; for one that was removed, that of its absence.
    private(set) var gatewayRevisions: [GatewayIdentifier: Int64] = [:]
    /// When the database has shown last that it commits, and the attempt that is under way.
    private var lastProof: ContinuousClock.Instant?
    private var proof: Task<Void, any Error>?
    /// The number of the lock that an attempt holds.
    private let proofLock = Int64.random(in: .min ... .max)
    /// The channel on which the database says that there is a new revision.
    static let channel = "sallyport"

    init(_ database: any FleetDatabase, key: FleetKey) { (self.database, self.key) = (database, key) }

    /// Makes the tables and writes the first state.
    ///
    /// - Throws: `exists` if there is a fleet.
    static func initialize(_ database: any FleetDatabase, key: FleetKey, _ authorities: AuthorityRecord) async throws {
        try await database.transaction(.write) { transaction in
            let found = try await transaction.run("SELECT count(*) FROM pg_class WHERE oid = to_regclass('fleet')", [])
            if try found.first?.integer(0) == 1 {
                throw GatewayError(
                    .exists, "There is a fleet in the database already: `gateway join` takes part in it.")
            }
            for statement in FleetSchema.steps.joined() { try await transaction.run(statement, []) }
            let mark = FleetMark(revision: 1, directory: 1, authorities: 1)
            try await transaction.run(
                "INSERT INTO fleet (id, revision, feature_level, mark) VALUES ($1, 1, \(FleetSchema.level), $2)",
                [.text(UUID().uuidString.lowercased()), key.seal(mark)])
            try await transaction.run(
                "INSERT INTO directory (revision, body) VALUES (1, $1)",
                [key.seal(Directory(), table: "directory", row: "1")])
            try await transaction.run(
                "INSERT INTO authority (revision, body) VALUES (1, $1)",
                [key.seal(authorities, table: "authority", row: "1")])
        }
    }

    func warning() async -> String? { await database.warning() }

    func news() -> AsyncStream<Void> {
        database.notifications(of: Self.channel, watching: "SELECT revision FROM fleet")
    }

    func trouble() async -> GatewayError? { await database.trouble }

    func audited() -> AsyncStream<AuditEntry> { audits }

    func told(_ entry: AuditEntry) {
        auditedNumbers[entry.chain] = max(auditedNumbers[entry.chain] ?? 0, entry.number)
        audit.yield(entry)
    }

    func close() async {
        audit.finish()
        await database.close()
    }

    /// - Parameter gateways: all that there are at the revision.
    private func note(_ gateways: [Revised<GatewayRecord>], at revision: Int64) {
        for id in gatewayRevisions.keys where !gateways.contains(where: { $0.value.id == id }) {
            gatewayRevisions[id] = max(gatewayRevisions[id] ?? 0, revision)
        }
        for gateway in gateways {
            gatewayRevisions[gateway.value.id] = max(gatewayRevisions[gateway.value.id] ?? 0, gateway.revision)
        }
    }

    /// Notes what a transaction has seen.
    func note(_ revision: Int64, _ records: [InstanceRecord] = []) {
        newest = max(newest, revision)
        for record in records {
            let id = record.name.instance
            updates[id] = max(updates[id] ?? 0, record.updates ?? 0)
        }
    }
}

// MARK: Word

extension FleetStore {
    /// How long after a commit a revision that is read is taken for the newest.
    static let proofLife: Duration = .seconds(2)

    nonisolated var isShared: Bool { true }

    /// What it returns is noted before it is followed: if the host that has said it is lost, and another one takes its
    /// place without it, that one was put back. The number alone would be the word of the database's owner, so its mark
    /// is opened.
    func confirm() async throws -> Int64 {
        let (key, newest) = (key, newest)
        try await vouch()
        let revision = try await database.transaction(.read) { try await $0.mark(key, since: newest).revision }
        note(revision)
        return revision
    }

    /// The revision as the database says it. It may be of an earlier version, which has no mark, and of an earlier
    /// time.
    func statedRevision() async throws -> Int64 {
        try await vouch()
        return try await database.transaction(.read) { try await $0.revision() }
    }

    /// Has the database commit something small. A primary that was cut off from its standbys can still be read, while
    /// the others may have elected another one that takes withdrawals: it cannot commit, so its word is worth nothing.
    func vouch() async throws {
        if let lastProof, lastProof.duration(to: .now) < Self.proofLife { return }
        if let proof { return try await proof.value }
        let task = Task {
            defer { proof = nil }
            let began = ContinuousClock.now
            try await commitMessage()
            lastProof = began
        }
        proof = task
        try await task.value
    }

    /// Commits a record in the write-ahead log, for which the database waits until the standbys have it. It goes on waiting
    /// after this gateway has given up, so the lock sees to it that it waits for one at most.
    private func commitMessage() async throws {
        let lock = proofLock
        let hasLock = try await database.transaction(.write) { transaction in
            let rows = try await transaction.run(
                """
                SELECT CASE WHEN pg_try_advisory_xact_lock($1::bigint)
                    THEN pg_logical_emit_message(true, 'sallyport', '') IS NOT NULL ELSE false END
                """, [.integer(lock)])
            return try rows.first?.integer(0) == 1
        }
        guard hasLock else {
            throw GatewayError(.unreachable, "The database does not commit what it was given before.")
        }
    }
}

// MARK: Following

extension FleetStore {
    func changes(after revision: Int64?) async throws -> StoredChanges {
        // As of before the transaction: what is committed meanwhile may be newer than what it sees.
        let (key, newest, updates, known) = (key, newest, updates, gatewayRevisions)
        let base = revision == nil ? FleetFollowed() : followed
        let (changes, gateways, now) = try await database.transaction(.read) {
            transaction -> (StoredChanges, [Revised<GatewayRecord>]?, FleetFollowed) in
            let mark = try await transaction.mark(key, since: newest)
            let instances = try await transaction.instances(after: revision ?? 0, key)
            var (changes, gateways) = try await transaction.changes(after: revision ?? 0, mark, key)
            changes.instances = instances.records
            for record in changes.instances where record.updates ?? 0 < updates[record.name.instance] ?? 0 {
                throw Self.wasPutBack(record)
            }
            for gateway in gateways ?? [] { try gateway.check(against: known) }
            return (changes, gateways, try base.with(changes, instances.digests, gateways, key))
        }
        if let gateways { note(gateways, at: changes.revision) }
        note(changes.revision, changes.instances)
        if now.mark.revision >= followed.mark.revision { followed = now }
        return changes
    }

    static func wasPutBack(_ record: InstanceRecord) -> GatewayError {
        GatewayError(
            .store,
            "The record of instance \(record.name.instance) in the database is older than one that was read before. What "
                + "is known stays in force, and nothing is written.")
    }
}

extension FleetTransaction {
    /// Before long work between two statements: the database ends a transaction that writes if it stands still for three
    /// seconds.
    func mayTakeLong() async throws { try await run("SET LOCAL idle_in_transaction_session_timeout = '60s'", []) }

    /// - Returns: what changed apart from instances, and all gateways with their revisions if one has.
    fileprivate func changes(
        after revision: Int64, _ mark: FleetMark, _ key: FleetKey
    ) async throws -> (StoredChanges, [Revised<GatewayRecord>]?) {
        var changes = StoredChanges(revision: mark.revision)
        changes.mark = mark
        changes.directory = try await single("directory", after: revision, key)
        changes.authorities = try await single("authority", after: revision, key)
        changes.relays = try await single("relay", after: revision, key)
        guard let rows = try await gateways(after: revision) else { return (changes, nil) }
        let gateways = try rows.rows.map(key.openGateway)
        changes.gateways = Revised(value: gateways.map(\.value), revision: rows.revision)
        return (changes, gateways)
    }
}
