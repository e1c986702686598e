internal import Foundation
internal import HashTreeCollections

extension FleetStore {
    func revise(
        _ known: Revised<Directory>, _ instances: InstanceTable, at now: Date, audit note: AuditNote,
        _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision {
        let (key, newest) = (key, newest)
        let (outcome, ended) = try await audited {
            transaction -> ((DirectoryRevision, [InstanceRecord]), AuditEvent?) in
            let old = try await transaction.directory(key, known: known, lock: "FOR UPDATE")
            let edited = try edit(old.value)
            let lost = old.value.grantsLost(in: edited.directory)
            let ending = try await transaction.holders(of: lost, known: instances, key).filter { $0.ended == nil }
            guard ending.isEmpty || edited.isConfirmed else { return ((.unconfirmed(ending), []), nil) }
            try await transaction.destroyKeys(of: lost, key)
            let ended = ending.map { $0.ended(under: edited.directory, at: now) }
            let hash = key.instanceHash
            let (before, after) = (hash.digest(of: ending), hash.digest(of: ended))
            let revision = try await transaction.advance(from: newest, key) { mark in
                try mark.change(\.directory, from: old.revision)
                mark.instances.toggle(before)
                mark.instances.toggle(after)
            }
            for record in ended { try await transaction.keep(record, key, revision: revision) }
            try await transaction.run(
                "UPDATE directory SET revision = $1, body = $2",
                [.integer(revision), key.seal(edited.directory, table: "directory", row: "\(revision)")])
            return ((.done(revision, edited), ended), note.event(of: edited, from: old.value, ending: ended))
        }
        if case .done(let revision, _) = outcome { self.note(revision, ended) }
        return outcome
    }

    func revise(
        audit note: AuditNote, _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> Int64? {
        let (key, newest) = (key, newest)
        let revision = try await audited { transaction -> (Int64?, AuditEvent?) in
            let rows = try await transaction.run("SELECT revision, body FROM authority FOR UPDATE", [])
            guard let row = rows.first else { throw FleetTables.missing("authority") }
            let old: Revised<AuthorityRecord> = try key.openSingle(row, table: "authority")
            guard let new = try edit(old.value) else { return (nil, note.event(changed: false)) }
            let revision = try await transaction.advance(from: newest, key) { mark in
                try mark.change(\.authorities, from: old.revision)
            }
            try await transaction.run(
                "UPDATE authority SET revision = $1, body = $2",
                [.integer(revision), key.seal(new, table: "authority", row: "\(revision)")])
            return (revision, note.event())
        }
        if let revision { self.note(revision) }
        return revision
    }

    /// The table is empty until there is a relay.
    func reviseRelays(
        audit note: AuditNote, _ edit: @escaping @Sendable (RelayTable) throws -> RelayTable?
    ) async throws -> Int64? {
        let (key, newest) = (key, newest)
        let revision = try await audited { transaction -> (Int64?, AuditEvent?) in
            // An empty table has no row that could be locked.
            try await transaction.run("LOCK TABLE relay IN EXCLUSIVE MODE", [])
            let old: Revised<RelayTable> =
                try await transaction.single("relay", after: 0, key) ?? Revised(value: RelayTable(), revision: 0)
            guard let new = try edit(old.value), new != old.value else { return (nil, note.event(changed: false)) }
            let revision = try await transaction.advance(from: newest, key) { mark in
                try mark.change(\.relays, from: old.revision)
            }
            if new.hasAdded(to: old.value) {
                // Under the lock of the fleet, as gateways are entered.
                let rows = try await transaction.run("SELECT id, revision, body FROM gateway", [])
                try new.check(addedTo: old.value, beside: rows.map(key.openGateway).map(\.value))
            }
            try await transaction.run(
                """
                INSERT INTO relay (revision, body) VALUES ($1, $2)
                ON CONFLICT (one) DO UPDATE SET revision = excluded.revision, body = excluded.body
                """, [.integer(revision), key.seal(new, table: "relay", row: "\(revision)")])
            return (revision, note.event())
        }
        if let revision { self.note(revision) }
        return revision
    }
}
