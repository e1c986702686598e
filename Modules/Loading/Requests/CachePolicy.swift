/// How a load uses the cache; the names are those of the URL loading system.
public enum CachePolicy: Sendable, Hashable {
    /// As RFC 9111 says.
    case useProtocolCachePolicy
    /// From the server, ignoring stored answers; the new answer is stored.
    case reloadIgnoringLocalCacheData
    /// As ``reloadIgnoringLocalCacheData``, and caches on the way must not answer either (`Cache-Control: no-cache`).
    case reloadIgnoringLocalAndRemoteCacheData
    /// The stored answer, of any age; from the server if there is none.
    case returnCacheDataElseLoad
    /// The stored answer, of any age; if there is none, the load ends with `notInCache` before any connection is made.
    case returnCacheDataDontLoad
    /// The stored answer if the server confirms it; otherwise from the server.
    case reloadRevalidatingCacheData
}
