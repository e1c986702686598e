/// Changes to the store, all of which are kept or none, for the duration of ``SecureStore/write(_:)``.
///
/// Sees its own changes. Used after the closure returned, it throws ``StoreError/Code/closed``.
public final class WriteTransaction {
    private let tree: Tree
    private(set) var changes: WriteSet
    private var isOver = false

    init(tree: Tree, changes: WriteSet) {
        self.tree = tree
        self.changes = changes
    }

    func end() { isOver = true }

    /// Changes a record behind the collection's back: what tests do to show that damage is found.
    func overwrite(_ place: [UInt8], with record: [UInt8]?) { changes.set(record, at: place) }

    /// The value, with the changes of this transaction; nil where there is none.
    public func value<Key, Value>(
        for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Value? {
        let octets = key.storeOctets
        let place = collection.cipher.place(of: octets)
        guard let record = try record(at: place) else { return nil }
        return try collection.opened(record, at: place, expecting: octets)
    }

    /// Sets a value; an earlier one is replaced.
    ///
    /// - Throws: ``StoreError/Code/tooLarge`` for a key over ``SecureStore/maximumKeyLength`` or a value over
    ///   ``SecureStore/maximumValueLength`` octets.
    public func set<Key, Value>(
        _ value: Value, for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) {
        let (key, value) = (key.storeOctets, try collection.encode(value))
        guard key.count <= SecureStore.maximumKeyLength else {
            throw StoreError(.tooLarge, "A key has at most \(SecureStore.maximumKeyLength) octets.")
        }
        guard value.count <= SecureStore.maximumValueLength else {
            throw StoreError(.tooLarge, "A value has at most \(SecureStore.maximumValueLength) octets.")
        }
        let place = collection.cipher.place(of: key)
        try replace(try collection.cipher.seal(key: key, value: value, at: place), at: place, in: collection)
    }

    /// Removes a value; a missing one is no error.
    public func remove<Key, Value>(_ key: Key, from collection: StoreCollection<Key, Value>) throws(StoreError) {
        try replace(nil, at: collection.cipher.place(of: key.storeOctets), in: collection)
    }

    /// Removes every record of the collection.
    public func removeAll<Key, Value>(from collection: StoreCollection<Key, Value>) throws(StoreError) {
        for place in try records(of: collection).keys { changes.set(nil, at: place) }
        try keep(CollectionSummary(), of: collection)
    }

    /// All records, with the changes of this transaction, in no order that says anything.
    public func all<Key, Value>(in collection: StoreCollection<Key, Value>) throws(StoreError) -> [(Key, Value)] {
        try records(of: collection).map { place, record throws(StoreError) in
            try collection.opened(record, at: place)
        }
    }

    private func record(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        guard !isOver else { throw StoreError(.closed, "The transaction is over.") }
        if let change = changes.change(at: place) { return change }
        return try tree.value(at: place)
    }

    private func records<Key, Value>(
        of collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> [[UInt8]: [UInt8]] {
        guard !isOver else { throw StoreError(.closed, "The transaction is over.") }
        var found: [[UInt8]: [UInt8]] = [:]
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            found[place] = record
            return true
        }
        for (place, record) in changes.changes(prefix: collection.cipher.identifier) { found[place] = record }
        found[collection.cipher.identifier] = nil
        return found
    }

    private func replace<Key, Value>(
        _ new: [UInt8]?, at place: [UInt8], in collection: StoreCollection<Key, Value>
    ) throws(StoreError) {
        let old = try record(at: place)
        if old == nil, new == nil { return }
        var summary = try record(at: collection.cipher.identifier).map(collection.summary) ?? CollectionSummary()
        if let old { summary.removed(old, at: place, key: collection.cipher.sumKey) }
        if let new { summary.added(new, at: place, key: collection.cipher.sumKey) }
        changes.set(new, at: place)
        try keep(summary, of: collection)
    }

    private func keep<Key, Value>(
        _ summary: CollectionSummary, of collection: StoreCollection<Key, Value>
    ) throws(StoreError) {
        let place = collection.cipher.identifier
        let name = Array(collection.name.utf8)
        changes.set(try collection.cipher.seal(key: name, value: summary.octets, at: place), at: place)
    }
}
