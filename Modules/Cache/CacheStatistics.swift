/// Statistics of a cache at one moment.
public struct CacheStatistics: Sendable, Hashable, Codable {
    /// The number of stored answers.
    public let entries: Int
    /// Their size in the store, in bytes.
    public let bytes: Int
    /// Loads answered without contacting the server since the cache was opened, including stale answers.
    public let hits: Int
    /// Loads that found nothing stored.
    public let misses: Int
    /// Loads answered from the cache after the server confirmed that the entry is still valid.
    public let revalidations: Int
    /// Answers stored since the cache was opened.
    public let stores: Int
    /// Entries removed to make room since the cache was opened.
    public let evictions: Int

    init(entries: Int, bytes: Int, counts: CacheCounts) {
        self.entries = entries
        self.bytes = bytes
        (hits, misses, revalidations) = (counts.hits, counts.misses, counts.revalidations)
        (stores, evictions) = (counts.stores, counts.evictions)
    }
}

struct CacheCounts: Sendable {
    var hits = 0
    var misses = 0
    var revalidations = 0
    var stores = 0
    var evictions = 0
}
