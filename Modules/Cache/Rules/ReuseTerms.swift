/// What an answer's `Cache-Control` says about its reuse. Kept with the entry, so that a hit parses no directives.
struct ReuseTerms: Sendable, Hashable {
    var noCache = false
    var mustRevalidate = false
    var isImmutable = false
    /// In seconds (RFC 5861 §3).
    var staleWhileRevalidate: Int64?
    /// In seconds (RFC 5861 §4).
    var staleIfError: Int64?
}

extension CacheControl {
    var reuse: ReuseTerms {
        ReuseTerms(
            noCache: noCache, mustRevalidate: mustRevalidate, isImmutable: isImmutable,
            staleWhileRevalidate: staleWhileRevalidate, staleIfError: staleIfError)
    }
}
