/// Changes to the store, all or none of which are kept, for the duration of ``SecureStore/write(isolation:_:)``.
///
/// Its reads include its own changes. If it is used after the closure has returned, it throws
/// ``StoreError/Code/closed``.
public final class WriteTransaction {
    let tree: Tree
    let ring: KeyRing
    private(set) var changes: WriteSet
    private var isOver = false
    /// Expired records are hidden, as of one moment for the whole transaction.
    let now: UInt64

    init(tree: Tree, ring: KeyRing, changes: WriteSet, now: UInt64 = StoreTime.now()) {
        self.tree = tree
        self.ring = ring
        self.changes = changes
        self.now = now
    }

    func end() { isOver = true }

    private func checkOpen() throws(StoreError) {
        guard !isOver else { throw StoreError(.closed, "The transaction is over.") }
    }

    // MARK: Records

    func record(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        try checkOpen()
        if let change = changes.change(at: place) { return change }
        return try tree.value(at: place)
    }

    /// All records below an identifier, by place, including the changes so far; the summary is not included.
    func records(of identifier: [UInt8]) throws(StoreError) -> [[UInt8]: [UInt8]] {
        try checkOpen()
        var found: [[UInt8]: [UInt8]] = [:]
        try tree.forEach(prefix: identifier) { place, record throws(StoreError) in
            found[place] = record
            return true
        }
        for (place, record) in changes.changes(prefix: identifier) { found[place] = record }
        found[identifier] = nil
        return found
    }

    /// The places of all records below an identifier, as ``records(of:)`` finds them: the records themselves may be
    /// more than fits into memory.
    func places(of identifier: [UInt8]) throws(StoreError) -> Set<[UInt8]> {
        try checkOpen()
        var found: Set<[UInt8]> = []
        try unsafe tree.scan(from: identifier) { place, _ throws(StoreError) in
            guard unsafe place.starts(with: identifier) else { return false }
            unsafe found.insert(Array(place))
            return true
        }
        for (place, record) in changes.changes(prefix: identifier) {
            if record == nil { found.remove(place) } else { found.insert(place) }
        }
        found.remove(identifier)
        return found
    }

    /// Changes a record without updating the collection's sum: tests use it to show that damage is found.
    func overwrite(_ place: [UInt8], with record: [UInt8]?) { changes.set(record, at: place) }

    /// Replaces a record and updates the collection's sum.
    ///
    /// - Parameter name: the name that is sealed with a new sum.
    /// - Throws: ``StoreError/Code/damaged`` if the collection's sum does not open, or if a record is to be replaced in
    ///   a collection that counts none: its sum is hidden, and one that begins anew would be wrong for good. In both
    ///   cases a record can be removed, so that data can be erased.
    func replace(
        _ new: [UInt8]?, at place: [UInt8], in cipher: RecordCipher, named name: [UInt8] = []
    ) throws(StoreError) {
        let old = try record(at: place)
        guard let new else {
            if let old { try remove(old, at: place, in: cipher) }
            return
        }
        var summary = try summary(of: cipher, named: name)
        if let old {
            guard summary.sum.count > 0 else {
                throw Self.damaged(summary.name, "has a record, and its count and sum are of none.")
            }
            summary.sum.removed(old, at: place, key: cipher.sumKey)
        }
        summary.sum.added(new, at: place, key: cipher.sumKey)
        changes.set(new, at: place)
        changes.set(summary, of: cipher.identifier)
    }

    private func remove(_ old: [UInt8], at place: [UInt8], in cipher: RecordCipher) throws(StoreError) {
        guard var summary = try soundSummary(of: cipher), summary.sum.count > 0 else {
            return changes.set(nil, at: place)
        }
        summary.sum.removed(old, at: place, key: cipher.sumKey)
        changes.set(nil, at: place)
        changes.set(summary, of: cipher.identifier)
    }

    private static func damaged(_ name: [UInt8], _ fault: String) -> StoreError {
        let title = WriteSet.Summary(name: name, sum: CollectionSummary()).title
        let collection = title.flatMap { $0.isEmpty ? nil : "Collection \($0)" } ?? "A collection"
        return StoreError(.damaged, "\(collection) \(fault)")
    }

    // MARK: Sums

    func summary(of cipher: RecordCipher, named name: [UInt8]) throws(StoreError) -> WriteSet.Summary {
        if let summary = changes.summary(of: cipher.identifier) { return summary }
        guard let record = try tree.value(at: cipher.identifier) else {
            return WriteSet.Summary(name: name, sum: CollectionSummary())
        }
        do throws(StoreError) { return try cipher.openSummary(record) } catch {
            throw error.code == .damaged ? Self.damaged(name, "has a count and sum that do not verify.") : error
        }
    }

    /// Nil if it does not open.
    private func soundSummary(of cipher: RecordCipher) throws(StoreError) -> WriteSet.Summary? {
        do throws(StoreError) { return try summary(of: cipher, named: []) } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    /// Begins a sum that does not open anew, so that a collection from which every record was removed can be written.
    func mendSummary(ofEmpty cipher: RecordCipher, named name: [UInt8]) throws(StoreError) {
        guard try soundSummary(of: cipher) == nil else { return }
        changes.set(WriteSet.Summary(name: name, sum: CollectionSummary()), of: cipher.identifier)
    }

    /// Seals an unchanged sum again.
    func touch(_ summary: WriteSet.Summary, of cipher: RecordCipher) { changes.set(summary, of: cipher.identifier) }

    /// Records that an index entry was added or removed.
    func note(_ label: OrderLabel, of index: [UInt8]) { changes.note(label, of: index) }

    func tell(_ kind: StoreEvent.Kind, _ cipher: RecordCipher) {
        changes.tell(StoreEvent(identifier: cipher.identifier, kind: kind))
    }
}

extension RecordCipher {
    func openSummary(_ record: [UInt8]) throws(StoreError) -> WriteSet.Summary {
        let opened = try open(record, at: identifier)
        guard let sum = CollectionSummary(bytes: opened.value) else {
            throw StoreError(.damaged, "A collection's sum does not verify.")
        }
        return WriteSet.Summary(name: opened.key, sum: sum)
    }
}
