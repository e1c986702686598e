internal import SallyportSecureStore
internal import SallyportWire

extension EmbeddedStore {
    func addKey(
        under digest: [UInt8], known: Revised<Directory>, audit note: AuditNote,
        _ make: @escaping @Sendable (Directory) throws -> AccessKeyRecord
    ) async throws {
        _ = try await audited { transaction, collections in
            let key = try make(transaction.directory(collections, known: known))
            try transaction.set(key, for: digest, in: collections.keys)
            return AuditedChange(value: (), event: note.event())
        }
    }

    func accessKey(under digest: [UInt8]) throws -> AccessKeyRecord? {
        try store.read { try $0.value(for: digest, in: collections.keys) }
    }

    func accessKeys() throws -> [AccessKeyRecord] { try store.read { try $0.all(in: collections.keys) }.map(\.1) }

    func consume(
        _ digest: [UInt8], for use: AccessKeyRecord.Use, by instance: InstanceRecord, known: Revised<Directory>,
        audit note: AuditNote, _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption {
        try await audited { transaction, collections in
            guard var key = try transaction.value(for: digest, in: collections.keys) else {
                throw AccessKeyRecord.refusal
            }
            if let earlier = try key.earlier(than: use) { return AuditedChange(value: .repeated(earlier)) }
            try check(transaction.directory(collections, known: known), key)
            key.use = use
            try transaction.set(key, for: digest, in: collections.keys)
            try transaction.keep(instance, collections)
            try transaction.note(instance, collections)
            let revision = try transaction.advance(collections, changing: [instance.name.instance])
            return AuditedChange(value: .made(revision), revision: revision, event: note.event())
        }.value
    }

    func removeAccessKeys(
        audit note: AuditNote, _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int {
        try await audited { transaction, collections in
            let keys = try transaction.all(in: collections.keys)
            let chosen = try choice(keys.map(\.1))
            for (digest, record) in keys where chosen.contains(record.id) {
                try transaction.remove(digest, from: collections.keys)
            }
            return AuditedChange(
                value: chosen.count, event: note.event(changed: !chosen.isEmpty, count: chosen.count))
        }.value
    }
}
