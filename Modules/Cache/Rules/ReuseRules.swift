internal import HTTPTypes
internal import SallyportLoading

/// Whether and how a stored answer may be used for a request (RFC 9111 §4.2, §5.2).
struct ReuseRules {
    enum Decision: Equatable {
        /// Used without asking the server.
        case use(isStale: Bool)
        /// Used at once, while the server is asked in the background (RFC 5861 §3).
        case useAndValidate
        /// The server is asked first. `onError`: if that fails, the stored answer may be used (RFC 5861 §4).
        /// `isShared`: loads with the same request may wait for its answer.
        case validate(onError: Bool, isShared: Bool)
    }

    let policy: CachePolicy
    let request: CacheControl
    /// The limit that the app has set, in seconds.
    let longestAge: Int64?

    func decide(_ answer: CachedAnswer, now: CacheTime) -> Decision {
        if policy == .returnCacheDataElseLoad || policy == .returnCacheDataDontLoad { return .use(isStale: false) }
        let terms = answer.reuse
        guard let age = answer.age.seconds(at: now) else { return .validate(onError: false, isShared: true) }
        let lifetime = min(answer.lifetime, longestAge ?? .max)
        let isFresh = lifetime > age
        if policy == .reloadRevalidatingCacheData {
            return isFresh && terms.isImmutable ? .use(isStale: false) : .validate(onError: false, isShared: false)
        }
        if request.noCache || terms.noCache { return .validate(onError: false, isShared: false) }
        guard isFresh else { return stale(terms, aged: age, by: age.clampedSum(-lifetime)) }
        return suits(age, lifetime, terms)
            ? .use(isStale: false) : .validate(onError: mayFail(terms, 0), isShared: false)
    }

    /// Whether a fresh answer is young enough for the request (§5.2.1.1, §5.2.1.3). An immutable answer always is (RFC
    /// 8246 §2).
    private func suits(_ age: Int64, _ lifetime: Int64, _ terms: ReuseTerms) -> Bool {
        if let minFresh = request.minFresh, lifetime.clampedSum(-age) < minFresh { return false }
        return terms.isImmutable || age <= request.maxAge ?? .max
    }

    /// `max-stale` lets the request use a stale answer, but none that is older than its `max-age` (§5.2.1.1).
    private func stale(_ terms: ReuseTerms, aged age: Int64, by staleness: Int64) -> Decision {
        guard !terms.mustRevalidate else { return .validate(onError: false, isShared: true) }
        if request.minFresh == nil, age <= request.maxAge ?? .max {
            switch request.maxStale {
            case .any: return .use(isStale: true)
            case .seconds(let limit) where staleness <= limit: return .use(isStale: true)
            default: break
            }
            if request.maxAge == nil, staleness <= terms.staleWhileRevalidate ?? -1 { return .useAndValidate }
        }
        return .validate(onError: mayFail(terms, staleness), isShared: true)
    }

    private func mayFail(_ terms: ReuseTerms, _ staleness: Int64) -> Bool {
        !terms.mustRevalidate && staleness <= max(terms.staleIfError ?? -1, request.staleIfError ?? -1)
    }

    /// Server errors for which a stale answer may be used (RFC 5861 §4).
    static func isError(_ status: HTTPResponse.Status) -> Bool { [500, 502, 503, 504].contains(status.code) }
}
