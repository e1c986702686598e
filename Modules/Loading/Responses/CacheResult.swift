/// What the cache did for a load, as named by records, metrics and `LoadFacts.cache`.
public enum CacheResult: String, Sendable, Hashable, Codable, CaseIterable {
    /// A stored response was used without asking the server.
    case hit
    /// No stored response could be used.
    case miss
    /// The server confirmed that the stored response is still valid.
    case revalidated
    /// A part of the response was stored, and the server sent the rest of it.
    case completed
    /// The server was asked whether the stored response is still valid, and sent another.
    case changed
    /// A stored response that is no longer fresh was used, without asking the server or because the server failed.
    case stale
    /// The request had to go to the server: the cache was not used.
    case bypassed
}
