/// The changes of a group of writers, before they are written to the tree: one writer's changes can be dropped without
/// those of the others, and all can be applied again after the map has grown.
struct WriteSet: Sendable {
    /// A collection's sum, and its name, which is sealed with it.
    struct Summary: Sendable {
        var name: [UInt8]
        var sum: CollectionSummary

        /// The name without its name space, for people; nil if it is not text.
        var title: String? { String(validating: name.drop { $0 != 0 }.dropFirst(), as: UTF8.self) }
    }

    private struct Layer: Sendable {
        /// Nil removes the record.
        var records: [[UInt8]: [UInt8]?] = [:]
        /// By identifier; unencrypted until all writers are done, so that each is sealed once.
        var summaries: [[UInt8]: Summary] = [:]
        var events: [StoreEvent] = []
        /// For each index: the labels whose entries changed.
        var labels: [[UInt8]: SortedLabels] = [:]
    }

    private var kept = Layer()
    private var current = Layer()

    mutating func begin() { current = Layer() }
    mutating func drop() { current = Layer() }

    /// Keeps the current writer's changes, and returns the events to broadcast.
    mutating func keep() -> [StoreEvent] {
        kept.records.merge(current.records) { _, new in new }
        kept.summaries.merge(current.summaries) { _, new in new }
        for (index, labels) in current.labels { kept.labels[index, default: SortedLabels()].formUnion(labels) }
        defer { current = Layer() }
        return current.events
    }

    mutating func set(_ value: [UInt8]?, at place: [UInt8]) { current.records[place] = .some(value) }
    mutating func set(_ summary: Summary, of identifier: [UInt8]) { current.summaries[identifier] = summary }
    mutating func tell(_ event: StoreEvent) { current.events.append(event) }

    mutating func note(_ label: OrderLabel, of index: [UInt8]) {
        current.labels[index, default: SortedLabels()].insert(label)
    }

    /// The first label at or after `label` whose entry was added or removed by a writer in the group.
    func label(from label: OrderLabel, of index: [UInt8]) -> OrderLabel? {
        [current, kept].compactMap { $0.labels[index]?.first(from: label) }.min()
    }

    /// The last label at or before `label` whose entry was added or removed by a writer in the group.
    func label(upTo label: OrderLabel, of index: [UInt8]) -> OrderLabel? {
        [current, kept].compactMap { $0.labels[index]?.last(upTo: label) }.max()
    }

    /// What a writer sees at a place: its own change, or that of an earlier writer in the group; nil if there is none.
    func change(at place: [UInt8]) -> [UInt8]?? { current.records[place] ?? kept.records[place] }

    func summary(of identifier: [UInt8]) -> Summary? { current.summaries[identifier] ?? kept.summaries[identifier] }

    /// All changes below a prefix that a writer sees.
    func changes(prefix: [UInt8]) -> [[UInt8]: [UInt8]?] {
        kept.records.merging(current.records) { _, new in new }.filter { $0.key.starts(with: prefix) }
    }

    var isEmpty: Bool { kept.records.isEmpty && kept.summaries.isEmpty }

    /// Applied in the tree's order, so that many insertions take one pass.
    func apply(to tree: Tree, ring: KeyRing) throws(StoreError) {
        for (place, value) in kept.records.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            if let value { try tree.put(value, at: place) } else { try tree.remove(at: place) }
        }
        for (identifier, summary) in kept.summaries {
            let record = Record(key: summary.name, value: summary.sum.bytes)
            try tree.put(ring.cipher(identifier: identifier).seal(record, at: identifier), at: identifier)
        }
    }
}
