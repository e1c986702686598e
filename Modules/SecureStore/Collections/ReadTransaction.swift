/// A consistent view of the store at one moment, for the duration of ``SecureStore/read(_:)``.
///
/// If it is used after the closure has returned, it throws ``StoreError/Code/closed``.
public final class ReadTransaction {
    let tree: Tree
    let ring: KeyRing
    /// Expired records are hidden, as of one moment for the whole transaction.
    private(set) lazy var now = StoreTime.now()

    init(tree: Tree, ring: KeyRing) {
        self.tree = tree
        self.ring = ring
    }

    /// The value, or nil if there is none.
    ///
    /// - Throws: ``StoreError/Code/damaged`` if the record is not what was written for this key;
    ///   ``StoreError/Code/wrongKey`` if the store was opened read-only, another process has changed its protector, and
    ///   the record has a data key that was made since: open the store again with the new one.
    public func value<Key, Value>(
        for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Value? {
        let key = key.storeBytes
        guard let bytes = try bytes(for: key, in: collection.cipher, named: collection.name) else { return nil }
        return try collection.decode(bytes)
    }

    /// The bytes, or nil if there are none.
    ///
    /// - Throws: ``StoreError/Code/damaged`` if the record is not what was written for this key;
    ///   ``StoreError/Code/wrongKey`` if the store was opened read-only, another process has changed its protector, and
    ///   the record has a data key that was made since: open the store again with the new one.
    public func value<Key>(
        for key: Key, in collection: StoreCollection<Key, [UInt8]>
    ) throws(StoreError) -> [UInt8]? {
        try bytes(for: key.storeBytes, in: collection.cipher, named: collection.name)
    }

    private func bytes(
        for key: [UInt8], in cipher: RecordCipher, named name: String
    ) throws(StoreError) -> [UInt8]? {
        switch try find(key, in: cipher) {
        case .nothing: return nil
        case .value(let value): return value
        case .refused(let failure): throw failure ?? Self.damaged(name)
        case .more:
            let place = cipher.place(of: key)
            guard let record = try tree.value(at: place) else { return nil }
            return try cipher.bytes(of: record, at: place, expecting: key, named: name, seenBy: self)
        }
    }

    private enum Found {
        case nothing
        case value([UInt8])
        /// The record is not what was written, or there is an error that keeps its key away.
        case refused(StoreError?)
        /// The record contains more than a value.
        case more
    }

    /// The fast path of most reads: from the map to the value with one copy.
    private func find(_ key: [UInt8], in cipher: RecordCipher) throws(StoreError) -> Found {
        var (found, failure): (Found, StoreError?) = (.nothing, nil)
        unsafe cipher.withPlace(of: key) { place in
            do throws(StoreError) {
                guard let record = unsafe try tree.find(place) else { return }
                guard unsafe RecordCipher.isPlain(record) else { return found = .more }
                guard let value = unsafe cipher.openValue(record, at: place, expecting: key) else {
                    return found = .refused(unsafe cipher.keyFailure(of: record))
                }
                found = .value(value)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return found
    }

    /// Calls `body` with every record, in no particular order, until it returns false.
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

    /// All records, in no particular order.
    public func all<Key, Value>(in collection: StoreCollection<Key, Value>) throws(StoreError) -> [(Key, Value)] {
        var records: [(Key, Value)] = []
        try forEach(in: collection) { key, value in
            records.append((key, value))
            return true
        }
        return records
    }

    /// The number of records; expired ones are counted until ``SecureStore/sweep(asOf:)`` removes them.
    public func count<Key, Value>(of collection: StoreCollection<Key, Value>) throws(StoreError) -> Int {
        try summary(of: collection.cipher, named: collection.name).entries
    }

    private func summary(of cipher: RecordCipher, named name: String) throws(StoreError) -> CollectionSummary {
        guard let record = try tree.value(at: cipher.identifier) else { return CollectionSummary() }
        do throws(StoreError) { return try cipher.openSummary(record).sum } catch { throw Self.named(name, error) }
    }

    /// Names the collection in which damage was found; other errors stay as they are.
    private static func named(_ name: String, _ error: StoreError) -> StoreError {
        error.code == .damaged ? damaged(name) : error
    }

    private static func damaged(_ name: String) -> StoreError {
        StoreError(.damaged, "A record in collection \(name) does not verify.")
    }

    /// Counts and digests every record again and compares the results with the stored sums.
    ///
    /// - Throws: ``StoreError/Code/damaged`` if a record fails verification, is missing, was added, or is out of date.
    public func verify<Key, Value>(_ collection: StoreCollection<Key, Value>) throws(StoreError) {
        let counted = try verified(collection.cipher, named: collection.name) { key throws(StoreError) in
            _ = try collection.key(key)
        }
        guard collection.order == .ordered else { return }
        let index = OrderIndex(of: collection.cipher.identifier, in: ring)
        var last: [UInt8]?
        let entries = try verified(index.cipher, named: collection.name) { key throws(StoreError) in
            let isAscending = last.map { $0.lexicographicallyPrecedes(key) } ?? true
            let isThere = try tree.value(at: collection.cipher.place(of: key)) != nil
            guard isAscending, isThere else { throw collection.damaged() }
            last = key
        }
        guard entries == counted else {
            throw StoreError(
                .damaged, "Collection \(collection.name): \(counted) records, and \(entries) in its order.")
        }
    }

    private static func opened(
        _ record: [UInt8], at place: [UInt8], by cipher: RecordCipher, named name: String
    ) throws(StoreError) -> Record {
        do throws(StoreError) { return try cipher.open(record, at: place) } catch { throw named(name, error) }
    }

    /// Checks the records below an identifier against their sum, and returns their number.
    private func verified(
        _ cipher: RecordCipher, named name: String, _ check: ([UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        var counted = CollectionSummary()
        try tree.forEach(prefix: cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            try check(Self.opened(record, at: place, by: cipher, named: name).key)
            counted.added(record, at: place, key: cipher.sumKey)
            return true
        }
        guard try summary(of: cipher, named: name) == counted else {
            throw StoreError(
                .damaged, "Collection \(name): \(counted.entries) records, and the sum is of others.")
        }
        return counted.entries
    }
}

extension ReadTransaction: RecordSource {
    func record(at place: [UInt8]) throws(StoreError) -> [UInt8]? { try tree.value(at: place) }
    func recordReadOnce(at place: [UInt8]) throws(StoreError) -> [UInt8]? { try tree.valueReadOnce(at: place) }
}

extension WriteTransaction: RecordSource {}
