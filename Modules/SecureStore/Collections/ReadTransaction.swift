/// A consistent view of the store at one moment, for the duration of ``SecureStore/read(_:)``.
///
/// Used after the closure returned, it throws ``StoreError/Code/closed``.
public final class ReadTransaction {
    let tree: Tree
    let ring: KeyRing
    /// Expired records are not seen; one moment for the whole transaction.
    private(set) lazy var now = StoreTime.now()

    init(tree: Tree, ring: KeyRing) {
        self.tree = tree
        self.ring = ring
    }

    /// The value, or nil where there is none.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where the record is not what was written for this key.
    public func value<Key, Value>(
        for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Value? {
        let octets = key.storeOctets
        let found = try unsafe collection.cipher.withPlace(of: octets) { place throws(StoreError) in
            try unsafe tree.withRecord(at: place) { record throws(StoreError) in
                try unsafe quickValue(of: record, at: place, expecting: octets, in: collection)
            }
        }
        switch found {
        case nil: return nil
        case .octets(let value): return try collection.decode(value)
        case .record(let record):
            let place = collection.cipher.place(of: octets)
            return try collection.value(of: record, at: place, expecting: octets, seenBy: self)
        }
    }

    private enum Found {
        case octets([UInt8])
        /// One that has more to it.
        case record([UInt8])
    }

    private func quickValue<Key, Value>(
        of record: UnsafeRawBufferPointer, at place: UnsafeRawBufferPointer, expecting key: [UInt8],
        in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Found {
        let value: [UInt8]?
        do throws(StoreError) {
            value = try unsafe collection.cipher.openValue(record, at: place, expecting: key)
        } catch {
            throw collection.damaged()
        }
        return unsafe value.map { .octets($0) } ?? .record(Array(record))
    }

    /// Calls `body` with every record, in no order that says anything, until it returns false.
    public func forEach<Key, Value>(
        in collection: StoreCollection<Key, Value>, _ body: (Key, Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength,
                let (key, value) = try collection.pair(of: record, at: place, seenBy: self)
            else { return true }
            return try body(key, value)
        }
    }

    /// All records, in no order that says anything.
    public func all<Key, Value>(in collection: StoreCollection<Key, Value>) throws(StoreError) -> [(Key, Value)] {
        var records: [(Key, Value)] = []
        try forEach(in: collection) { key, value in
            records.append((key, value))
            return true
        }
        return records
    }

    /// How many records the collection has; expired ones count until ``SecureStore/sweep(asOf:)`` removes them.
    public func count<Key, Value>(of collection: StoreCollection<Key, Value>) throws(StoreError) -> Int {
        try summary(of: collection).entries
    }

    private func summary<Key, Value>(
        of collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> CollectionSummary {
        guard let record = try tree.value(at: collection.cipher.identifier) else { return CollectionSummary() }
        do throws(StoreError) { return try collection.cipher.openSummary(record).sum } catch {
            throw collection.damaged()
        }
    }

    /// Counts and sums every record anew and compares with what the store keeps.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where a record does not verify, or one is missing, added or older.
    public func verify<Key, Value>(_ collection: StoreCollection<Key, Value>) throws(StoreError) {
        var counted = CollectionSummary()
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            _ = try collection.key(collection.opened(record, at: place).key)
            counted.added(record, at: place, key: collection.cipher.sumKey)
            return true
        }
        guard try summary(of: collection) == counted else {
            throw StoreError(
                .damaged, "Collection \(collection.name): \(counted.entries) records, and the sum is of others.")
        }
    }
}

extension ReadTransaction: RecordSource {
    func record(at place: [UInt8]) throws(StoreError) -> [UInt8]? { try tree.value(at: place) }
}

extension WriteTransaction: RecordSource {}
