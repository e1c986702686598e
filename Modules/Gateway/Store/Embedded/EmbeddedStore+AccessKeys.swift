internal import SallyportSecureStore
internal import SallyportWire

extension EmbeddedStore {
    func add(_ key: AccessKeyRecord, under digest: [UInt8]) async throws {
        try await store.write { [collections] in try $0.set(key, for: digest, in: collections.keys) }
    }

    func accessKey(under digest: [UInt8]) throws -> AccessKeyRecord? {
        try store.read { try $0.value(for: digest, in: collections.keys) }
    }

    func accessKeys() throws -> [AccessKeyRecord] { try store.read { try $0.all(in: collections.keys) }.map(\.1) }

    func consume(
        _ digest: [UInt8], for use: AccessKeyRecord.Use, by instance: InstanceRecord, known: Revised<Directory>,
        _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption {
        try await write { transaction, collections in
            guard var key = try transaction.value(for: digest, in: collections.keys) else {
                throw AccessKeyRecord.refusal
            }
            if let earlier = try key.earlier(than: use) { return (.repeated(earlier), nil) }
            try check(transaction.directory(collections, known: known), key)
            key.use = use
            try transaction.set(key, for: digest, in: collections.keys)
            try transaction.keep(instance, collections)
            try transaction.note(instance, collections)
            let revision = try transaction.advance(collections, changing: [instance.name.instance])
            return (.made(revision), revision)
        }.value
    }

    func removeAccessKeys(
        _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int {
        try await store.write { [collections] transaction in
            let keys = try transaction.all(in: collections.keys)
            let chosen = try choice(keys.map(\.1))
            for (digest, record) in keys where chosen.contains(record.id) {
                try transaction.remove(digest, from: collections.keys)
            }
            return chosen.count
        }
    }
}
