internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore

/// An instance's tickets in its store, under a reserved name: one record for each user.
///
/// A write is queued in the store before it is awaited, so that calls from one actor keep their order.
struct TicketStorage: Sendable {
    private let store: SecureStore
    private let records: StoreCollection<[UInt8], [UInt8]>

    init(_ store: SecureStore) {
        self.store = store
        records = store.reservedCollection("kerberos", of: [UInt8].self, keyedBy: [UInt8].self)
    }

    /// A principal's name may contain anything, so its length comes first.
    private static func key(_ owner: TicketOwner) -> [UInt8] {
        let name = Array(owner.principal.name.utf8)
        return UInt32(name.count).bigEndianBytes + name + Array(owner.user.description.utf8)
    }

    /// Reads all readable records: a damaged one is lost, and its tickets are requested again.
    func load() throws -> [TicketRecord] {
        var found: [TicketRecord] = []
        try store.read { transaction in
            try transaction.forEachSound(in: records) { _, bytes in
                if let record = TicketRecord(bytes) { found.append(record) }
            } damaged: {
            }
        }
        return found
    }

    /// Durable on return.
    ///
    /// - Parameter record: nil removes the record; so does a record that is too long to be stored.
    func write(
        _ owner: TicketOwner, _ record: TicketRecord?, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let (records, key) = (records, Self.key(owner))
        let bytes = record?.bytes
        try await store.write { transaction in
            if let bytes, bytes.count <= TicketRecord.maximumLength {
                try transaction.set(bytes, for: key, in: records)
            } else {
                try transaction.remove(key, from: records)
            }
        }
    }

    /// Queues the removal of users' records, and does not wait for it. Records that stay because it fails are loaded
    /// like all others the next time, and make room then if there are too many.
    ///
    /// - Parameter finish: called once, unless there is nothing to remove, when the records are gone or the removal has
    ///   failed. Must not block.
    func remove(_ owners: [TicketOwner], finish: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        let keys = owners.map(Self.key)
        guard !keys.isEmpty else { return }
        store.submit(
            { [records] transaction in
                for key in keys { try transaction.remove(key, from: records) }
            }, finish: finish)
    }

    /// - Parameter principal: the principal; if nil, all principals, and records that cannot be read.
    func removeAll(
        of principal: Principal?, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let records = records
        guard let principal else { return try await store.write { try $0.removeAll(from: records) } }
        // Waits for the writes that were queued before.
        try await store.write { _ in }
        let keys = try load().map(\.owner).filter { $0.principal == principal }.map(Self.key)
        try await store.write { transaction in
            for key in keys { try transaction.remove(key, from: records) }
        }
    }
}
