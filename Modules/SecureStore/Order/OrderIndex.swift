internal import SallyportBase

/// The index of an ordered collection: an entry for each record, at the place given by its label, which contains the
/// encrypted key.
struct OrderIndex {
    let cipher: RecordCipher
    /// The name that is sealed with the index's sum.
    let name: [UInt8]

    /// - Parameter collection: the identifier of the ordered collection.
    init(of collection: [UInt8], in ring: KeyRing) {
        name = Array("internal\0order ".utf8) + Hexadecimal.digits(of: collection)
        cipher = ring.cipher(ofCollection: name)
    }

    func place(of label: OrderLabel) -> [UInt8] { cipher.identifier + label.bytes }

    /// Nil for a place outside this index.
    func label(ofPlace place: some Collection<UInt8>) -> OrderLabel? {
        guard place.starts(with: cipher.identifier) else { return nil }
        return OrderLabel(bytes: place.dropFirst(RecordCipher.identifierLength))
    }
}

/// One entry of an index.
struct OrderEntry {
    let label: OrderLabel
    let key: [UInt8]
}

/// A transaction as a source of an index's entries.
protocol OrderSource {
    var ring: KeyRing { get }
    /// The first entry at or after a label.
    func entry(from label: OrderLabel, in index: OrderIndex) throws(StoreError) -> OrderEntry?
    func lastEntry(in index: OrderIndex) throws(StoreError) -> OrderEntry?
}

/// The position of a key in an index, whether or not the index contains it.
struct OrderPosition: Equatable {
    /// The label of the greatest lower key.
    var lower: OrderLabel?
    /// The key's own label.
    var own: OrderLabel?
    /// The label of the least greater key; not determined if the key itself was found.
    var upper: OrderLabel?
}

extension OrderSource {
    /// Finds a key's position by decrypting about log n entries; one entry for a key after all others.
    func position(of key: [UInt8], in index: OrderIndex) throws(StoreError) -> OrderPosition {
        guard let last = try lastEntry(in: index) else { return OrderPosition() }
        if last.key == key { return OrderPosition(own: last.label) }
        if last.key.lexicographicallyPrecedes(key) { return OrderPosition(lower: last.label) }
        var search = OrderSearch(below: last.label)
        if let first = try entry(from: .least, in: index) { search.saw(first, seeking: key) }
        while let label = search.next {
            if let entry = try entry(from: label, in: index), entry.label < search.end {
                search.saw(entry, seeking: key)
            } else {
                search.sawNothing()
            }
        }
        return search.position
    }
}

/// A binary search over labels instead of entries, since the number of entries is not known. No I/O.
private struct OrderSearch {
    private(set) var position: OrderPosition
    /// The result is at or after `start`, and before `end`.
    private var start = OrderLabel.least
    private(set) var end: OrderLabel
    /// There is nothing from the middle on: all entries, if any, may be far before it.
    private var looksAtStart = false

    init(below upper: OrderLabel) {
        position = OrderPosition(upper: upper)
        end = upper
    }

    /// The label at which to look next; nil if the search is over.
    var next: OrderLabel? {
        guard position.own == nil, start < end else { return nil }
        return looksAtStart ? start : OrderLabel(number: start.number + (end.number - start.number) / 2)
    }

    /// Called with the entry at or after the label, if there is one before the end.
    mutating func saw(_ entry: OrderEntry, seeking key: [UInt8]) {
        let isFirst = looksAtStart
        looksAtStart = false
        if entry.key == key {
            position.own = entry.label
        } else if entry.key.lexicographicallyPrecedes(key) {
            position.lower = entry.label
            start = entry.label.next ?? end
        } else {
            position.upper = entry.label
            end = isFirst ? start : entry.label
        }
    }

    mutating func sawNothing() {
        guard let label = next else { return }
        end = label
        looksAtStart = !looksAtStart
    }
}
