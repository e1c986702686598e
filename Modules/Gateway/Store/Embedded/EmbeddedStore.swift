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
    let audit: AuditCollections
    /// The epochs of the instances whose configuration was signed since the start.
    var epochs: [InstanceIdentifier: EpochLedger] = [:]
    /// The newest revision that this actor knows to be durable.
    private(set) var newest: Int64 = 0
    /// When the gateway was there since the start; it is written only when the gateway begins and ends.
    var presences: [GatewayIdentifier: GatewayPresence] = [:]
    private let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let (audits, auditing) = AsyncStream.makeStream(
        of: AuditEntry.self, bufferingPolicy: .bufferingOldest(4096))

    /// Opens the data of a gateway, of an earlier version too.
    init(_ store: SecureStore) async throws {
        self.store = store
        collections = EmbeddedCollections(store)
        audit = AuditCollections(store)
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

    func news() -> AsyncStream<Void> { signals }

    func audited() -> AsyncStream<AuditEntry> { audits }

    func told(_ entry: AuditEntry) { auditing.yield(entry) }

    func close() {
        signal.finish()
        auditing.finish()
    }

    /// Writes, and signals that there is news if there is a new revision.
    func write<Value: Sendable>(
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
            let after = revision ?? 0
            var changes = StoredChanges(revision: now.newest)
            if now.directory > after {
                changes.directory = try snapshot.value(for: "directory", in: collections.directory).map {
                    Revised(value: $0, revision: now.directory)
                }
            }
            if now.authorities > after {
                changes.authorities = try snapshot.value(for: "authorities", in: collections.authorities).map {
                    Revised(value: $0, revision: now.authorities)
                }
            }
            if let revision = now.gateways, revision > after {
                changes.gateways = Revised(
                    value: try snapshot.all(in: collections.gateways).map(\.1), revision: revision)
            }
            if let relays = now.relays, relays > revision ?? 0 {
                changes.relays = try snapshot.value(for: "relays", in: collections.relays).map {
                    Revised(value: $0, revision: relays)
                }
            }
            changes.instances = try Self.instances(after: revision, now, snapshot, collections)
            return changes
        }
    }

    func trouble() -> GatewayError? { nil }

    nonisolated var isShared: Bool { false }

    /// No other store can take its place.
    func vouch() {}

    func confirm() throws -> Int64 {
        try store.read { [collections] snapshot in
            guard let now = try snapshot.value(for: "revisions", in: collections.revisions) else {
                throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` creates one.")
            }
            return now.newest
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
