/// The changes of a group of writers, before they touch the tree: what one writer did can be dropped without the
/// others', and all can be applied again after the map has grown.
struct WriteSet: Sendable {
    /// A nil value removes.
    private var kept: [[UInt8]: [UInt8]?] = [:]
    private var current: [[UInt8]: [UInt8]?] = [:]

    mutating func begin() { current = [:] }
    mutating func drop() { current = [:] }

    mutating func keep() {
        kept.merge(current) { _, new in new }
        current = [:]
    }

    mutating func set(_ value: [UInt8]?, at place: [UInt8]) { current[place] = .some(value) }

    /// What a writer sees at a place: its own change, else an earlier writer's of the group; nil where there is none.
    func change(at place: [UInt8]) -> [UInt8]?? { current[place] ?? kept[place] }

    /// All changes below a prefix that a writer sees.
    func changes(prefix: [UInt8]) -> [[UInt8]: [UInt8]?] {
        kept.merging(current) { _, new in new }.filter { $0.key.starts(with: prefix) }
    }

    func apply(to tree: Tree) throws(StoreError) {
        for (place, value) in kept.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            if let value { try tree.put(value, at: place) } else { try tree.remove(at: place) }
        }
    }
}
