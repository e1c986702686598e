extension FleetStore {
    func addKey(
        under digest: [UInt8], known: Revised<Directory>, audit note: AuditNote,
        _ make: @escaping @Sendable (Directory) throws -> AccessKeyRecord
    ) async throws {
        let key = key
        try await audited { transaction in
            // A removal of the right waits for this transaction and then finds the key, or this one for the removal.
            let record = try make(await transaction.directory(key, known: known, lock: "FOR SHARE").value)
            try await transaction.run(
                "INSERT INTO access_key (digest, holder, body) VALUES ($1, $2, $3)",
                [.bytes(digest), key.holder(record.grant), key.seal(record, under: digest)])
            return ((), note.event())
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
        audit note: AuditNote, _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption {
        let (key, newest) = (key, newest)
        let consumption = try await audited { transaction -> (Consumption, AuditEvent?) in
            // A removal waits for this transaction, or this one for the removal.
            let directory = try await transaction.directory(key, known: known, lock: "FOR SHARE").value
            let rows = try await transaction.run(
                "SELECT body FROM access_key WHERE digest = $1 FOR UPDATE", [.bytes(digest)])
            guard let row = rows.first else { throw AccessKeyRecord.refusal }
            var record: AccessKeyRecord = try key.openKey(row.bytes(0), under: digest)
            if let earlier = try record.earlier(than: use) { return (.repeated(earlier), nil) }
            try check(directory, record)
            record.use = use
            try await transaction.run(
                "UPDATE access_key SET is_used = true, body = $2 WHERE digest = $1",
                [.bytes(digest), key.seal(record, under: digest)])
            let revision = try await transaction.advance(from: newest, key) { mark in
                mark.instances.toggle(key.instanceHash.digest(of: instance))
            }
            try await transaction.add(instance, key, revision: revision)
            return (.made(revision), note.event())
        }
        if case .made(let revision) = consumption { self.note(revision) }
        return consumption
    }

    func removeAccessKeys(
        audit note: AuditNote, _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int {
        let key = key
        return try await audited { transaction -> (Int, AuditEvent?) in
            try await transaction.mayTakeLong()
            let rows = try await transaction.run("SELECT digest, body FROM access_key ORDER BY digest FOR UPDATE", [])
            let keys = try rows.map { row -> (digest: [UInt8], record: AccessKeyRecord) in
                let digest = try row.bytes(0)
                return (digest, try key.openKey(row.bytes(1), under: digest))
            }
            let chosen = try choice(keys.map(\.record))
            for (digest, record) in keys where chosen.contains(record.id) {
                try await transaction.run("DELETE FROM access_key WHERE digest = $1", [.bytes(digest)])
            }
            return (chosen.count, note.event(changed: !chosen.isEmpty, count: chosen.count))
        }
    }
}
