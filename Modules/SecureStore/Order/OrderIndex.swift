internal import SallyportBase

/// The index of an ordered collection: an entry for each record, at the place that its label gives, in which the key is
/// sealed.
struct OrderIndex {
    let cipher: RecordCipher
    /// What is sealed with the index's sum.
    let name: [UInt8]

    /// - Parameter collection: the identifier of the ordered collection.
    init(of collection: [UInt8], in ring: KeyRing) {
        name = Array("internal\0order ".utf8) + Hexadecimal.digits(of: collection)
        cipher = ring.cipher(ofCollection: name)
    }

    func place(of label: OrderLabel) -> [UInt8] { cipher.identifier + label.octets }

    /// Nil for a place that is none of this index.
    func label(ofPlace place: some Collection<UInt8>) -> OrderLabel? {
        guard place.starts(with: cipher.identifier) else { return nil }
        return OrderLabel(octets: place.dropFirst(RecordCipher.identifierLength))
    }
}

/// One entry of an index.
struct OrderEntry {
    let label: OrderLabel
    let key: [UInt8]
}

/// A transaction, seen as where an index's entries are read from.
protocol OrderSource {
    var ring: KeyRing { get }
    /// The first entry at a label or behind it.
    func entry(from label: OrderLabel, in index: OrderIndex) throws(StoreError) -> OrderEntry?
    func lastEntry(in index: OrderIndex) throws(StoreError) -> OrderEntry?
}

/// Where a key stands in an index, or would stand.
struct OrderPosition: Equatable {
    /// Of the greatest key that is less.
    var lower: OrderLabel?
    /// Of this key.
    var own: OrderLabel?
    /// Of the least key that is greater; not looked for where the key itself was found.
    var upper: OrderLabel?
}

extension OrderSource {
    /// Finds a key's place with some log n entries that are opened; a key behind all others with one.
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

/// A search by halves, of labels and not of entries, since nobody counts these. No I/O.
private struct OrderSearch {
    private(set) var position: OrderPosition
    /// What is sought lies at `start` or behind, and before `end`.
    private var start = OrderLabel.least
    private(set) var end: OrderLabel
    /// Nothing lies from the middle on: the entries, if there are any, may all lie far in front of it.
    private var looksAtStart = false

    init(below upper: OrderLabel) {
        position = OrderPosition(upper: upper)
        end = upper
    }

    /// The label from which to look; nil where the search is over.
    var next: OrderLabel? {
        guard position.own == nil, start < end else { return nil }
        return looksAtStart ? start : OrderLabel(number: start.number + (end.number - start.number) / 2)
    }

    /// There is an entry at the label or behind it, and before the end.
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
