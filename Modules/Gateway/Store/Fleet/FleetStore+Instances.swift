internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

extension FleetStore {
    func change<Value: Sendable>(
        _ id: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let (key, newest, least) = (key, newest, updates[id] ?? 0)
        let change = try await audited { transaction -> (InstanceChange<Value>, AuditEvent?) in
            let old = try await transaction.record(id, key)
            guard old.updates ?? 0 >= least else { throw Self.wasPutBack(old) }
            var record = old
            let value = try edit(&record)
            guard record != old else {
                return (InstanceChange(record: old, value: value, revision: nil), note?.event(changed: false))
            }
            let event = try record.event(note, after: old)
            let revision = try await transaction.keep(&record, after: old, key, newest)
            return (InstanceChange(record: record, value: value, revision: revision), event)
        }
        self.note(change.revision ?? 0, [change.record])
        return change
    }

    /// The fleet's revision is read once the instance's row is locked: no other gateway takes an epoch of it in between.
    func nextEpoch(of id: InstanceIdentifier, atLeast least: Int64, seen: Date?) async throws -> GrantedEpoch {
        // As of before the transaction: a change that is committed meanwhile is newer than what it reads.
        let (key, newest) = (key, newest)
        let granted = try await database.transaction(.write) { transaction -> GrantedEpoch in
            let rows = try await transaction.run(
                """
                UPDATE instance SET epoch = GREATEST(epoch + 1, $2), last_seen = GREATEST(last_seen, $3::bigint)
                WHERE id = $1 RETURNING epoch
                """,
                [.text(id.description), .integer(least), seen.map { .integer($0.milliseconds) } ?? .null])
            guard let epoch = try rows.first?.integer(0) else { throw InstanceRecord.unknown(id) }
            return GrantedEpoch(epoch: epoch, revision: try await transaction.mark(key, since: newest).revision)
        }
        // As `confirm()` does: it is seen before it is followed.
        note(granted.revision)
        return granted
    }

    func lastContacts() async throws -> [InstanceIdentifier: Date] {
        let rows = try await database.transaction(.read) { transaction in
            try await transaction.run("SELECT id, last_seen FROM instance WHERE last_seen IS NOT NULL", [])
        }
        var contacts: [InstanceIdentifier: Date] = [:]
        for row in rows {
            guard let id = InstanceIdentifier(try row.text(0)) else { continue }
            contacts[id] = Date(milliseconds: try row.integer(1))
        }
        return contacts
    }

    func newestEpoch() async throws -> Int64 {
        try await awaitTakenEpochs()
        return try await database.transaction(.read) { transaction in
            try await transaction.run("SELECT COALESCE(max(epoch), 0) FROM instance", []).first?.integer(0) ?? 0
        }
    }

    /// How long open transactions are waited for: longer than the database lets one stand still that takes an epoch.
    static let overlap: Duration = .seconds(4)

    /// Returns once each transaction that has taken an epoch by now is committed or rolled back: until then, its epoch
    /// is not seen.
    ///
    /// A transaction has the table's lock for changes before it takes an epoch, and keeps it until its end is seen by
    /// others. It is only looked at: a lock that conflicts with it would also hold up each change that comes after, and
    /// would wait for the database's own upkeep of the table.
    func awaitTakenEpochs(within limit: Duration = overlap) async throws {
        let end = ContinuousClock.now + limit
        var changes = try await openChanges()
        while !changes.isEmpty {
            guard ContinuousClock.now < end else {
                throw GatewayError(.store, "Another gateway's change in the database has not ended yet; try again.")
            }
            try await Task.sleep(for: .milliseconds(25))
            changes.formIntersection(try await openChanges())
        }
    }

    /// The open transactions that have changed an instance, or are about to. Each has a name of its own.
    private func openChanges() async throws -> Set<String> {
        let rows = try await database.transaction(.read) { transaction in
            try await transaction.run(
                """
                SELECT virtualtransaction FROM pg_locks
                WHERE relation = 'instance'::regclass AND mode = 'RowExclusiveLock' AND granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """, [])
        }
        let names = try rows.map { try $0.text(0) }
        return Set(names)
    }
}

extension FleetTransaction {
    /// Keeps a changed record. In a database of a later version, what only the instance reports is left out: apps are
    /// served all the same.
    ///
    /// - Parameter newest: as ``advance(from:_:_:)`` takes it.
    /// - Returns: the revision; nil if others need not hear of the change.
    fileprivate func keep(
        _ record: inout InstanceRecord, after old: InstanceRecord, _ key: FleetKey, _ newest: Int64
    ) async throws -> Int64? {
        let isAnnounced = record.isAnnounced(after: old)
        record.countUpdate(isAnnounced: isAnnounced)
        guard isAnnounced else {
            if try await !keep(reported: record, key) { record = old }
            return nil
        }
        let hash = key.instanceHash
        let (before, after) = (hash.digest(of: old), hash.digest(of: record))
        let revision = try await advance(from: newest, key) { mark in
            mark.instances.toggle(before)
            mark.instances.toggle(after)
        }
        try await keep(record, key, revision: revision)
        return revision
    }
}
