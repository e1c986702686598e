internal import SallyportCore
internal import SallyportSecureStore

/// The storage of entries, in reserved collections of the store.
///
/// An entry is a record with the answer's head and, if it is short, its body; a longer body has its own record, in
/// pieces. Each entry also has a small index record, so that opening the cache reads no content.
final class EntryStorage: Sendable {
    typealias Change = @Sendable (WriteTransaction) throws -> Void

    let store: SecureStore
    let entries: StoreCollection<[UInt8], [UInt8]>
    let bodies: StoreCollection<[UInt8], [UInt8]>
    let index: StoreCollection<[UInt8], [UInt8]>

    /// Bodies up to this length are stored with their heads.
    static let inlineLimit = 64 << 10

    init(_ store: SecureStore) {
        self.store = store
        entries = store.reservedCollection("cache.entries", of: [UInt8].self, keyedBy: [UInt8].self)
        bodies = store.reservedCollection("cache.bodies", of: [UInt8].self, keyedBy: [UInt8].self)
        index = store.reservedCollection("cache.index", of: [UInt8].self, keyedBy: [UInt8].self)
    }

    /// All slots; nil if the index records and the entries do not match, so that neither can be trusted.
    func slots() throws -> [IndexSlot]? {
        try store.read { transaction in
            var slots: [IndexSlot] = []
            try transaction.forEach(in: index) { key, bytes throws(StoreError) in
                if let slot = IndexSlot(id: EntryID(bytes: key), bytes: bytes) { slots.append(slot) }
                return true
            }
            guard try transaction.count(of: index) == slots.count, try transaction.count(of: entries) == slots.count
            else { return nil }
            return slots
        }
    }

    /// The head, and the body if it is stored with it; nil if there is no readable entry.
    func answer(_ id: EntryID) -> (answer: CachedAnswer, body: [UInt8])? {
        guard var bytes = try? store.read({ try $0.value(for: id.bytes, in: entries) }),
            let answer = CachedAnswer.cut(from: &bytes)
        else { return nil }
        return (answer, bytes)
    }

    /// A separately stored body; nil if there is none.
    func body(_ id: EntryID) -> StoredChunks? { (try? store.chunks(of: id.bytes, in: bodies)) ?? nil }

    // MARK: Changes

    func put(_ slot: IndexSlot, _ record: [UInt8]) -> Change {
        { [self] transaction in
            try transaction.set(record, for: slot.id.bytes, in: entries)
            try transaction.set(slot.bytes, for: slot.id.bytes, in: index)
        }
    }

    /// Replaces the record of an entry, if the entry still exists.
    func replace(_ slot: IndexSlot, _ record: [UInt8]) -> Change {
        { [self] transaction in
            guard try transaction.value(for: slot.id.bytes, in: index) != nil else { return }
            try put(slot, record)(transaction)
        }
    }

    func remove(_ ids: [EntryID]) -> Change {
        { [self] transaction in
            for id in ids {
                try transaction.remove(id.bytes, from: entries)
                try transaction.remove(id.bytes, from: bodies)
                try transaction.remove(id.bytes, from: index)
            }
        }
    }

    /// Writes when entries were used. The rest of a slot stays: the server may have confirmed the entry since a load
    /// found it.
    func update(_ uses: [EntryID: CacheTime]) -> Change {
        { [self] transaction in
            for (id, time) in uses {
                guard let bytes = try transaction.value(for: id.bytes, in: index),
                    var slot = IndexSlot(id: id, bytes: bytes)
                else { continue }
                slot.used = time
                try transaction.set(slot.bytes, for: id.bytes, in: index)
            }
        }
    }

    var removeAll: Change {
        { [self] transaction in
            try transaction.removeAll(from: entries)
            try transaction.removeAll(from: bodies)
            try transaction.removeAll(from: index)
        }
    }
}
