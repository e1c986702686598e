/// Recent removals, so that an answer that was requested before a removal is not stored after it.
struct Removals: Sendable {
    private static let limit = 256
    private(set) var count: UInt64 = 0
    /// By URL; a removal that no longer fits into the table counts for all URLs.
    private var last: [UInt64: UInt64] = [:]
    private var ofAll: UInt64 = 0

    mutating func removed(_ url: UInt64) {
        count += 1
        last[url] = count
        guard last.count > Self.limit else { return }
        last = [:]
        ofAll = count
    }

    mutating func removedAll() {
        count += 1
        last = [:]
        ofAll = count
    }

    /// Whether the URL was removed since the count was `start`.
    func hasRemoved(_ url: UInt64, since start: UInt64) -> Bool { ofAll > start || last[url] ?? 0 > start }
}
