/// The index of the stored entries: values only.
struct CacheIndex: Sendable {
    private var slots: [UInt64: [IndexSlot]] = [:]
    private(set) var count = 0
    /// The size of all entries, in bytes.
    private(set) var size: Int64 = 0

    /// The greatest number of responses stored for one request target, principal and trust scope.
    static let variationLimit = 16

    init(_ slots: [IndexSlot] = []) { for slot in slots { insert(slot) } }

    var isEmpty: Bool { count == 0 }
    var all: [IndexSlot] { slots.values.flatMap(\.self) }

    /// The newest stored answer that matches the request.
    ///
    /// - Parameter variation: computes the code of the request's fields with these names.
    func slot(_ key: RequestKey, variation: ([String]) -> UInt64) -> IndexSlot? {
        guard !slots.isEmpty, let found = slots[key.url] else { return nil }
        var newest: IndexSlot?
        for slot in found where slot.principal == key.principal && slot.scope == key.scope {
            guard slot.names.isEmpty || variation(slot.names) == slot.variation else { continue }
            if newest.map({ $0.isOlder(than: slot) }) ?? true { newest = slot }
        }
        return newest
    }

    func has(_ url: UInt64) -> Bool { !slots.isEmpty && slots[url] != nil }

    func slots(of url: UInt64) -> [IndexSlot] { slots[url] ?? [] }

    func contains(_ slot: IndexSlot) -> Bool { slots[slot.url]?.contains { $0.id == slot.id } ?? false }

    /// The entries that a new one would replace.
    func standing(inPlaceOf slot: IndexSlot) -> [IndexSlot] {
        slots(of: slot.url).filter {
            $0.key == slot.key && $0.names == slot.names && $0.variation == slot.variation
        }
    }

    /// - Returns: the entries that the new one replaces.
    @discardableResult
    mutating func insert(_ slot: IndexSlot) -> [IndexSlot] {
        var replaced = standing(inPlaceOf: slot)
        let others = slots(of: slot.url).filter { $0.key == slot.key && !replaced.contains($0) }
        if others.count >= Self.variationLimit, let oldest = others.min(by: { $0.used < $1.used }) {
            replaced.append(oldest)
        }
        for old in replaced { remove(old) }
        replaced.removeAll { $0.id == slot.id }
        slots[slot.url, default: []].append(slot)
        count += 1
        size += slot.size
        return replaced
    }

    @discardableResult
    mutating func remove(_ slot: IndexSlot) -> Bool {
        guard var found = slots[slot.url], let index = found.firstIndex(where: { $0.id == slot.id }) else {
            return false
        }
        count -= 1
        size -= found[index].size
        found.remove(at: index)
        slots[slot.url] = found.isEmpty ? nil : found
        return true
    }

    /// Records a use.
    mutating func use(_ slot: IndexSlot, at time: CacheTime) {
        guard let index = slots[slot.url]?.firstIndex(where: { $0.id == slot.id }) else { return }
        slots[slot.url]?[index].used = time
    }

    mutating func removeAll() { self = CacheIndex() }

    /// The least recently used entries that must be removed so that the rest fits into `capacity`.
    func victims(toFit capacity: Int64) -> [IndexSlot] {
        var excess = size - capacity
        guard excess > 0 else { return [] }
        return all.sorted { $0.used < $1.used }.prefix { slot in
            defer { excess -= slot.size }
            return excess > 0
        }
    }
}
