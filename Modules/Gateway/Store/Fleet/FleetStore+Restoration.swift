internal import Foundation

/// What became of a database that was restored from a backup.
package struct FleetRestoration: Sendable, Hashable, Codable {
    /// At which the database was found.
    package let found: Int64
    /// What the gateway had reached before; nil if it had not followed the database yet.
    package let known: Int64?
    /// At which the database is now; nil if nothing was changed.
    package var revision: Int64?
    /// The access keys that were destroyed.
    package var destroyedKeys = 0
}

extension FleetStore {
    /// Puts the state of a database that was restored from a backup into force, with a revision above all that there were.
    ///
    /// Unused access keys are destroyed: they may have been used since the backup was made.
    ///
    /// It is one transaction, however many instances there are: if it is interrupted, nothing has changed.
    ///
    /// - Parameter known: what the gateway had reached before.
    func restore(since known: Int64?, audit note: AuditNote) async throws -> FleetRestoration {
        let key = key
        return try await audited { transaction -> (FleetRestoration, AuditEvent?) in
            let directory = try await transaction.directory(
                key, known: Revised(value: Directory(), revision: 0), lock: "FOR UPDATE")
            try await transaction.run(
                "LOCK TABLE authority, relay, instance, access_key, gateway IN EXCLUSIVE MODE", [])
            let keys = try await transaction.run("DELETE FROM access_key WHERE NOT is_used RETURNING 1", [])
            let found = try await transaction.revision()
            let revision = FleetEra.end(of: max(found, known ?? 0))
            try await transaction.begin(revision, from: found)
            try await transaction.reseal(directory.value, "directory", key, at: revision)
            let authorities: Revised<AuthorityRecord>? = try await transaction.single("authority", after: 0, key)
            let relays: Revised<RelayTable>? = try await transaction.single("relay", after: 0, key)
            if let authorities { try await transaction.reseal(authorities.value, "authority", key, at: revision) }
            if let relays { try await transaction.reseal(relays.value, "relay", key, at: revision) }
            let mark = try await transaction.takeMark(key, at: revision, areInstancesNew: true)
            try await transaction.run("UPDATE fleet SET mark = $1", [key.seal(mark)])
            let event = note.with(.detail, "revision \(found), \(known.map(String.init) ?? "none") was known").event()
            return (
                FleetRestoration(found: found, known: known, revision: revision, destroyedKeys: keys.count), event
            )
        }
    }
}

extension FleetTransaction {
    fileprivate func begin(_ revision: Int64, from found: Int64) async throws {
        let rows = try await run(
            """
            UPDATE fleet SET revision = $1 WHERE revision = $2 AND feature_level <= \(FleetSchema.level)
            RETURNING revision
            """, [.integer(revision), .integer(found)])
        guard !rows.isEmpty else {
            throw GatewayError(
                .store,
                "The database was changed meanwhile, or is of a later version: no gateway may run while it is put "
                    + "into force.")
        }
        try await run("SELECT pg_notify($1, '')", [.text(FleetStore.channel)])
    }

    fileprivate func reseal(
        _ value: some Encodable, _ table: String, _ key: FleetKey, at revision: Int64
    ) async throws {
        try await run(
            "UPDATE \(table) SET revision = $1, body = $2",
            [.integer(revision), key.seal(value, table: table, row: "\(revision)")])
    }
}
