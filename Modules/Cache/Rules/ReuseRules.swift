internal import HTTPTypes
internal import SallyportLoading

/// Whether what is stored may answer a request (RFC 9111 §4.2, §5.2), and how.
struct ReuseRules {
    enum Decision: Equatable {
        /// As it is.
        case use(isStale: Bool)
        /// As it is, and the server is asked behind it (RFC 5861 §3).
        case useAndValidate
        /// The server is asked first. `onError`: where it fails, the stored answer may be used (RFC 5861 §4).
        /// `isShared`: others that ask the same may wait for its answer.
        case validate(onError: Bool, isShared: Bool)
    }

    let policy: CachePolicy
    let request: CacheControl
    /// The limit that the app set, in seconds.
    let longestAge: Int64?

    func decide(_ answer: CachedAnswer, now: CacheTime) -> Decision {
        if policy == .returnCacheDataElseLoad || policy == .returnCacheDataDontLoad { return .use(isStale: false) }
        let control = answer.control
        guard let age = answer.age.seconds(at: now) else { return .validate(onError: false, isShared: true) }
        let lifetime = min(answer.lifetime, longestAge ?? .max)
        let isFresh = lifetime > age
        if policy == .reloadRevalidatingCacheData {
            return isFresh && control.isImmutable ? .use(isStale: false) : .validate(onError: false, isShared: false)
        }
        if request.noCache || control.noCache { return .validate(onError: false, isShared: false) }
        guard isFresh else { return stale(control, by: age.clampedSum(-lifetime)) }
        return suits(age, lifetime, control)
            ? .use(isStale: false) : .validate(onError: mayFail(control, 0), isShared: false)
    }

    /// Whether a fresh answer is young enough for the request (§5.2.1.1, §5.2.1.3). One that never changes while it is
    /// fresh is (RFC 8246 §2).
    private func suits(_ age: Int64, _ lifetime: Int64, _ control: CacheControl) -> Bool {
        if let minFresh = request.minFresh, lifetime.clampedSum(-age) < minFresh { return false }
        return control.isImmutable || age <= request.maxAge ?? .max
    }

    private func stale(_ control: CacheControl, by staleness: Int64) -> Decision {
        guard !control.mustRevalidate else { return .validate(onError: false, isShared: true) }
        if request.minFresh == nil, request.maxAge == nil || request.maxStale != nil {
            switch request.maxStale {
            case .any: return .use(isStale: true)
            case .seconds(let limit) where staleness <= limit: return .use(isStale: true)
            default: break
            }
            if request.maxAge == nil, staleness <= control.staleWhileRevalidate ?? -1 { return .useAndValidate }
        }
        return .validate(onError: mayFail(control, staleness), isShared: true)
    }

    private func mayFail(_ control: CacheControl, _ staleness: Int64) -> Bool {
        !control.mustRevalidate && staleness <= max(control.staleIfError ?? -1, request.staleIfError ?? -1)
    }

    /// The answers of servers that count as errors (RFC 5861 §4).
    static func isError(_ status: HTTPResponse.Status) -> Bool { [500, 502, 503, 504].contains(status.code) }
}
