/// How a load uses the cache; the names are those of the URL loading system.
public enum CachePolicy: Sendable, Hashable {
    /// What RFC 9111 says.
    case useProtocolCachePolicy
    /// From the server, whatever is stored; the answer is stored.
    case reloadIgnoringLocalCacheData
    /// As ``reloadIgnoringLocalCacheData``, and no cache on the way answers either (`Cache-Control: no-cache`).
    case reloadIgnoringLocalAndRemoteCacheData
    /// What is stored, however old; from the server where nothing is.
    case returnCacheDataElseLoad
    /// What is stored, however old; where nothing is, the load ends with `notInCache` before any connection.
    case returnCacheDataDontLoad
    /// What is stored, once the server said that it holds; else from the server.
    case reloadRevalidatingCacheData
}
