/// What the cache did for a load, as records, metrics and `LoadFacts.cache` name it.
public enum CacheResult: String, Sendable, Hashable, Codable, CaseIterable {
    /// Answered without the server.
    case hit
    /// Nothing stored could answer.
    case miss
    /// The server said that what is stored holds.
    case revalidated
    /// A part was stored, and the server sent the rest of the same answer.
    case completed
    /// The server was asked about what is stored and sent another answer.
    case changed
    /// Answered without the server, or though it failed, with what is no longer fresh.
    case stale
    /// The request was the server's alone.
    case bypassed
}
