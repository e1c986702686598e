internal import Foundation
internal import SallyportSecureStore
internal import SallyportWire

/// The store of a gateway that stands alone: an encrypted store in its data directory.
///
/// An actor for the epochs that were reserved; everything else is decided in the store's transactions, which the store
/// runs one at a time.
actor EmbeddedStore: GatewayStore {
    let store: SecureStore
    let collections: EmbeddedCollections
    /// The epochs of the instances whose configuration was signed since the start.
    private var epochs: [InstanceIdentifier: EpochLedger] = [:]
    /// The newest revision that this actor knows to be durable.
    private var newest: Int64 = 0
    private let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Opens the data of a gateway, of an earlier version too.
    init(_ store: SecureStore) async throws {
        self.store = store
        collections = EmbeddedCollections(store)
        let known = try store.read { [collections] in
            try $0.value(for: "revisions", in: collections.revisions)
        }
        if let known {
            newest = known.newest
            return
        }
        newest = try await store.write { [collections] transaction in
            for (_, record) in try transaction.all(in: collections.instances) {
                try transaction.note(record, collections)
            }
            try transaction.set(EmbeddedRevisions(), for: "revisions", in: collections.revisions)
            return EmbeddedRevisions().newest
        }
    }

    /// Writes the first state: one authority, and a directory that denies everything.
    static func initialize(_ store: SecureStore, _ authorities: AuthorityRecord) async throws {
        let collections = EmbeddedCollections(store)
        try await store.write { transaction in
            try transaction.set(EmbeddedRevisions(), for: "revisions", in: collections.revisions)
            try transaction.set(authorities, for: "authorities", in: collections.authorities)
            try transaction.set(Directory(), for: "directory", in: collections.directory)
        }
    }

    func news() -> AsyncStream<Void> { signals }

    func close() { signal.finish() }

    /// Writes, and signals that there is news if there is a new revision.
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction, EmbeddedCollections) throws -> (Value, Int64?)
    ) async throws -> (value: Value, revision: Int64?) {
        let (value, revision) = try await store.write { [collections] in try body($0, collections) }
        if let revision {
            newest = max(newest, revision)
            signal.yield()
        }
        return (value, revision)
    }
}

// MARK: Following

extension EmbeddedStore {
    func changes(after revision: Int64?) throws -> StoredChanges {
        try store.read { [collections] snapshot in
            guard let now = try snapshot.value(for: "revisions", in: collections.revisions) else {
                throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` creates one.")
            }
            var changes = StoredChanges(revision: now.newest)
            if now.directory > revision ?? 0 {
                changes.directory = try snapshot.value(for: "directory", in: collections.directory).map {
                    Revised(value: $0, revision: now.directory)
                }
            }
            if now.authorities > revision ?? 0 {
                changes.authorities = try snapshot.value(for: "authorities", in: collections.authorities).map {
                    Revised(value: $0, revision: now.authorities)
                }
            }
            changes.instances = try Self.instances(after: revision, now, snapshot, collections)
            return changes
        }
    }

    /// By the log, as far as it goes back.
    private static func instances(
        after revision: Int64?, _ now: EmbeddedRevisions, _ snapshot: ReadTransaction,
        _ collections: EmbeddedCollections
    ) throws -> [InstanceRecord] {
        guard let revision, now.newest - revision < EmbeddedRevisions.memory else {
            return try snapshot.all(in: collections.instances).map(\.1)
        }
        guard revision < now.newest else { return [] }
        var changed: Set<InstanceIdentifier> = []
        for number in revision + 1...now.newest {
            changed.formUnion(try snapshot.value(for: "\(number)", in: collections.log) ?? [])
        }
        return try changed.compactMap { try snapshot.value(for: $0.description, in: collections.instances) }
    }
}

// MARK: Policy

extension EmbeddedStore {
    func revise(
        _ known: Revised<Directory>, at now: Date, _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision {
        try await write { transaction, collections in
            let old = try transaction.directory(collections, known: known)
            let edited = try edit(old)
            let lost = old.grantsLost(in: edited.directory)
            let ending = try Self.holders(of: lost, transaction, collections).filter { $0.ended == nil }
            guard ending.isEmpty || edited.isConfirmed else { return (.unconfirmed(ending), nil) }
            for record in ending {
                try transaction.keep(record.ended(under: edited.directory, at: now), collections)
            }
            try transaction.set(edited.directory, for: "directory", in: collections.directory)
            try Self.destroyKeys(of: lost, transaction, collections)
            let revision = try transaction.advance(collections, changing: ending.map(\.name.instance)) {
                $0.directory = $0.newest
            }
            return (.done(revision, edited), revision)
        }.value
    }

    private static func holders(
        of grants: Set<Grant>, _ transaction: WriteTransaction, _ collections: EmbeddedCollections
    ) throws -> [InstanceRecord] {
        try grants.flatMap { grant in
            try (transaction.value(for: grant.text, in: collections.holders) ?? []).map {
                try transaction.record($0, collections)
            }
        }
    }

    /// A used key's record stays, so that a later second use is told the reason of its refusal.
    private static func destroyKeys(
        of lost: Set<Grant>, _ transaction: WriteTransaction, _ collections: EmbeddedCollections
    ) throws {
        guard !lost.isEmpty else { return }
        for (digest, record) in try transaction.all(in: collections.keys) {
            guard record.use == nil, lost.contains(record.grant) else { continue }
            try transaction.remove(digest, from: collections.keys)
        }
    }

    func revise(
        _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> Int64? {
        try await write { transaction, collections in
            guard let old = try transaction.value(for: "authorities", in: collections.authorities) else {
                throw GatewayError(.internalFailure, "The data have no authority.")
            }
            guard let new = try edit(old) else { return ((), nil) }
            try transaction.set(new, for: "authorities", in: collections.authorities)
            return ((), try transaction.advance(collections) { $0.authorities = $0.newest })
        }.revision
    }
}

// MARK: Instances

extension EmbeddedStore {
    /// An edit that changes nothing needs no write.
    func change<Value: Sendable>(
        _ id: InstanceIdentifier, _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let newest = epochs[id]?.last
        if let same = try unchanged(id, newest, edit) { return same }
        let (change, _) = try await write { transaction, collections -> (InstanceChange<Value>, Int64?) in
            let stored = try transaction.record(id, collections)
            let (old, edited, value) = try Self.edited(stored, newest, edit)
            guard edited != old else { return (InstanceChange(record: stored, value: value, revision: nil), nil) }
            var record = edited
            record.epoch = stored.epoch
            record.countUpdate()
            try transaction.keep(record, collections)
            let revision = try record.isAnnounced(after: old) ? transaction.advance(collections, changing: [id]) : nil
            return (InstanceChange(record: record, value: value, revision: revision), revision)
        }
        return change
    }

    private func unchanged<Value: Sendable>(
        _ id: InstanceIdentifier, _ newest: Int64?, _ edit: (inout InstanceRecord) throws -> Value
    ) throws -> InstanceChange<Value>? {
        guard let stored = try store.read({ try $0.value(for: id.description, in: collections.instances) }) else {
            throw InstanceRecord.unknown(id)
        }
        let (old, edited, value) = try Self.edited(stored, newest, edit)
        return edited == old ? InstanceChange(record: stored, value: value, revision: nil) : nil
    }

    /// The edit sees the newest epoch that was signed. In the store, the record has the end of the reserve.
    private static func edited<Value>(
        _ stored: InstanceRecord, _ newest: Int64?, _ edit: (inout InstanceRecord) throws -> Value
    ) throws -> (old: InstanceRecord, new: InstanceRecord, value: Value) {
        var old = stored
        old.epoch = newest ?? stored.epoch
        var new = old
        let value = try edit(&new)
        return (old, new, value)
    }

    /// Writes only if the reserve in the store is used up.
    func nextEpoch(of id: InstanceIdentifier, atLeast least: Int64, seen: Date?) async throws -> GrantedEpoch {
        var ledger = try epochs[id] ?? EpochLedger(kept: keptEpoch(of: id))
        let epoch = ledger.next(at: least)
        epochs[id] = ledger
        if let reservation = ledger.reservation(for: epoch) {
            _ = try await write { transaction, collections in
                var record = try transaction.record(id, collections)
                record.epoch = max(record.epoch, reservation)
                record.lastSeen = seen ?? record.lastSeen
                try transaction.keep(record, collections)
                return ((), nil)
            }
            // Only once it is durable: of two simultaneous calls, each waits for a write that covers its own epoch.
            epochs[id]?.keep(reservation)
        }
        return GrantedEpoch(epoch: epoch, revision: newest)
    }

    private func keptEpoch(of id: InstanceIdentifier) throws -> Int64 {
        guard let record = try store.read({ try $0.value(for: id.description, in: collections.instances) }) else {
            throw InstanceRecord.unknown(id)
        }
        return record.epoch
    }

    func newestEpoch() throws -> Int64 {
        var newest: Int64 = 0
        try store.read { snapshot in
            try snapshot.forEach(in: collections.instances) { _, record in
                newest = max(newest, epochs[record.name.instance]?.last ?? record.epoch)
                return true
            }
        }
        return newest
    }
}

// MARK: Access keys

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
