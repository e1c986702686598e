internal import HTTPTypes
internal import SallyportBase
package import SallyportCore

/// A stored entry, for the administration of a cache.
package struct StoredEntry: Sendable, Codable, Hashable {
    package let principal: String
    package let status: Int
    /// `direct` or `relay`.
    package let way: String
    /// The length of the body, in bytes.
    package let length: Int
    /// The stored ranges of the complete content.
    package let range: String?
    /// The request fields by which it was chosen.
    package let vary: [String]
    /// Its age in seconds.
    package let age: Int
    /// For how many more seconds it is fresh; negative if it is stale.
    package let fresh: Int
    /// The stored lines of the head, `name: value`.
    package let fields: [String]
}

extension SecureCache {
    /// The entries for a URL, of all principals, the newest first.
    package func entries(of url: RequestURL) -> [StoredEntry] {
        guard let storage else { return [] }
        let slots = state.withLock { $0.index.slots(of: keys.hash(of: url)) }
        let now = now()
        return slots.sorted { $0.received > $1.received }.compactMap { slot in
            guard let (answer, _) = storage.answer(slot.id), url.isWritten(as: answer.url) else { return nil }
            return StoredEntry(answer, slot, at: now)
        }
    }
}

extension StoredEntry {
    init(_ answer: CachedAnswer, _ slot: IndexSlot, at now: CacheTime) {
        let age = answer.age.seconds(at: now) ?? 0
        self.init(
            principal: answer.principal, status: answer.status.code, way: answer.way == .relay ? "relay" : "direct",
            length: Int(clamping: answer.length), range: answer.parts?.text, vary: slot.names,
            age: Int(clamping: age), fresh: Int(clamping: answer.lifetime.clampedSum(-age)),
            fields: answer.fields.map { "\($0.name.rawName): \($0.value)" })
    }
}
