/// A consistent view of the store at one moment, for the duration of ``SecureStore/read(_:)``.
///
/// Used after the closure returned, it throws ``StoreError/Code/closed``.
public final class ReadTransaction {
    private let tree: Tree

    init(tree: Tree) { self.tree = tree }

    /// The value, or nil where there is none.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where the record is not what was written for this key.
    public func value<Key, Value>(
        for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Value? {
        let octets = key.storeOctets
        let place = collection.cipher.place(of: octets)
        guard let record = try tree.value(at: place) else { return nil }
        return try collection.opened(record, at: place, expecting: octets)
    }

    /// Calls `body` with every record, in no order that says anything, until it returns false.
    public func forEach<Key, Value>(
        in collection: StoreCollection<Key, Value>, _ body: (Key, Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            let (key, value) = try collection.opened(record, at: place)
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

    /// How many records the collection has.
    public func count<Key, Value>(of collection: StoreCollection<Key, Value>) throws(StoreError) -> Int {
        guard let record = try tree.value(at: collection.cipher.identifier) else { return 0 }
        return try collection.summary(record).entries
    }

    /// Counts and sums every record anew and compares with what the store keeps.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where a record does not verify, or one is missing, added or older.
    public func verify<Key, Value>(_ collection: StoreCollection<Key, Value>) throws(StoreError) {
        var counted = CollectionSummary()
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            _ = try collection.opened(record, at: place) as (Key, Value)
            counted.added(record, at: place, key: collection.cipher.sumKey)
            return true
        }
        let kept = try tree.value(at: collection.cipher.identifier).map(collection.summary) ?? CollectionSummary()
        guard kept == counted else {
            throw StoreError(
                .damaged, "Collection \(collection.name): \(counted.entries) records, and the sum is of others.")
        }
    }
}

extension StoreCollection {
    func opened(_ record: [UInt8], at place: [UInt8], expecting key: [UInt8]) throws(StoreError) -> Value {
        let (found, value) = try openedOctets(record, at: place)
        guard found == key else { throw damaged() }
        return try decode(value)
    }

    func opened(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> (Key, Value) {
        let (key, value) = try openedOctets(record, at: place)
        guard let key = Key(storeOctets: key) else {
            throw StoreError(.encoding, "A key in collection \(name) is not a \(Key.self).")
        }
        return (key, try decode(value))
    }

    private func openedOctets(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> ([UInt8], [UInt8]) {
        do throws(StoreError) { return try cipher.open(record, at: place) } catch { throw damaged() }
    }

    func summary(_ record: [UInt8]) throws(StoreError) -> CollectionSummary {
        guard let (_, octets) = try? cipher.open(record, at: cipher.identifier),
            let summary = CollectionSummary(octets: octets)
        else { throw damaged() }
        return summary
    }

    private func damaged() -> StoreError {
        StoreError(.damaged, "A record in collection \(name) does not verify.")
    }
}
