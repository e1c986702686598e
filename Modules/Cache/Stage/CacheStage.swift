internal import HTTPTypes
internal import Logging
public import SallyportCore
public import SallyportLoading
internal import Synchronization

/// Answers requests from the cache where RFC 9111 and the request allow it, and stores what may be stored.
///
/// Stands below the stages that put cookies and credentials into requests, so that `Vary` sees what would be sent, and
/// above the connector. Before each use of an entry it asks the gate for the present route: `deny` is refused, and an
/// entry is used only for the kind of route by which it came. An entry is used only in sessions with the same trust
/// settings and the same client certificate as the session that loaded it.
public struct CacheStage: LoadStage {
    private let shared: SharedCache
    private let gate: any AccessGate
    private let policy: CachePolicy
    private let isOn: Bool

    /// The stage of a session that uses the cache while it is switched on, see ``SharedCache``.
    ///
    /// - Parameters:
    ///   - cache: holds the entries; sessions may share it.
    ///   - gate: decides how servers are reached now.
    ///   - policy: for requests that do not say.
    public init(cache: SecureCache, gate: any AccessGate, policy: CachePolicy = .useProtocolCachePolicy) {
        self.init(SharedCache(cache), gate: gate, policy: policy, isOn: true)
    }

    /// The stage of a session with all its settings, as the front door makes it.
    ///
    /// A session that does not use the cache has the stage too: its unsafe requests invalidate entries that other
    /// sessions use, a request for what is stored alone fails with `notInCache` and reaches no server, and a reload
    /// tells the caches on the way.
    ///
    /// - Parameters:
    ///   - shared: holds the entries, and the switch.
    ///   - gate: decides how servers are reached now.
    ///   - policy: for requests that do not say; usually the session's `SessionConfiguration.cachePolicy`.
    ///   - isOn: whether the session uses the cache at all; usually `SessionConfiguration.usesCache`.
    public init(
        _ shared: SharedCache, gate: any AccessGate, policy: CachePolicy = .useProtocolCachePolicy, isOn: Bool = true
    ) {
        self.shared = shared
        self.gate = gate
        self.policy = policy
        self.isOn = isOn
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard let place = place(for: request, in: context) else {
            let chosen = policy(of: request)
            guard chosen != .returnCacheDataDontLoad else { throw CachedLoad.nothingStored }
            let response = try await next.load(request.sent(under: chosen), in: context)
            invalidate(after: response, to: request)
            return response
        }
        return try await CachedLoad(request, in: context, next: next, at: place).run()
    }

    /// Passes requests that the cache does not handle, and those with no entry and an unstorable last answer: most
    /// loads of services, for which this costs one hash and one lock.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
        guard let cache = cache(for: request) else {
            switch policy(of: request) {
            case .returnCacheDataDontLoad, .reloadIgnoringLocalAndRemoteCacheData: return .runs
            default: return Invalidation.isPossible(after: request.method) ? .runs : .passes()
            }
        }
        guard cache.knowsUnstorable.load(ordering: .relaxed), policy(of: request) == .useProtocolCachePolicy,
            request.method == .get, !request.headerFields.contains(.cacheControl),
            let start = cache.startOfUnstorable(key(of: request, in: context, for: cache).key)
        else { return .runs }
        context.recorder?.decided(.cache, CacheResult.miss.rawValue)
        let moment = Start(removals: start, requested: cache.now())
        return .passes(watching: .storable, note: moment).telling(.miss)
    }

    /// Stores the answer if it turns out to be storable after all.
    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard let start = passage.note as? Start, let place = place(for: request, in: context) else { return response }
        let load = CachedLoad(request, in: context, next: next, at: place)
        return load.received(response, at: start.removals, requested: start.requested, lead: nil)
    }

    /// The state when a request bypassed the cache.
    private struct Start: Sendable {
        /// See ``SecureCache/removalCount``.
        let removals: UInt64
        let requested: CacheTime
    }

    private func policy(of request: LoadRequest) -> CachePolicy { request.differing?.options.cachePolicy ?? policy }

    /// The cache, if it handles the request; otherwise nil.
    ///
    /// The content of a GET has no defined meaning for a cache (RFC 9110 §9.3.1).
    private func cache(for request: LoadRequest) -> SecureCache? {
        guard isOn, request.body == nil, request.method == .get || request.method == .head,
            request.url.endpoint != nil
        else { return nil }
        return shared.active
    }

    /// Where an answer to the request would be found; nil if the cache does not handle the request.
    func place(for request: LoadRequest, in context: LoadContext) -> CachedLoad.Place? {
        guard let cache = cache(for: request), let endpoint = request.url.endpoint else { return nil }
        let (key, trust) = key(of: request, in: context, for: cache)
        return CachedLoad.Place(
            cache: cache, gate: gate, endpoint: endpoint, policy: policy(of: request), key: key, trust: trust)
    }

    private func key(
        of request: LoadRequest, in context: LoadContext, for cache: SecureCache
    ) -> (key: RequestKey, trust: TrustScope) {
        let scopes = context.trust
        var trust = scopes.scope(of: request.url, asksApp: context.hasResponder)
        if !request.hasJarCookies {
            let usesJar = request.differing?.options.handlesCookies ?? scopes.handlesCookies
            let own = ownCookies(of: request, for: cache)
            if !usesJar || own != nil { trust = trust.withoutJar(own: own) }
        }
        return (cache.keys.key(of: request.url, context.principal, trust), trust)
    }

    /// A code for the `Cookie` field that the app, or a stage above the jar's, has set; nil if there is none.
    private func ownCookies(of request: LoadRequest, for cache: SecureCache) -> [UInt8]? {
        guard request.headerFields.contains(.cookie) else { return nil }
        return cache.keys.code(ofCookies: request.headerFields[values: .cookie])
    }

    /// Invalidates what an unsafe request may have changed (RFC 9111 §4.4), even if this session does not use the
    /// cache or the app has switched it off: other sessions use it, and the app may switch it on again.
    private func invalidate(after response: LoadResponse, to request: LoadRequest) {
        guard Invalidation.isPossible(after: request.method),
            let urls = Invalidation.urls(after: response.head, to: request.url)
        else { return }
        let cache = shared.original
        cache.invalidate(urls.map(cache.keys.hash(of:)))
    }
}

/// What an unsafe request invalidates (RFC 9111 §4.4).
enum Invalidation {
    /// Whether a request with this method may change stored answers.
    static func isPossible(after method: HTTPRequest.Method) -> Bool {
        switch method {
        case .get, .head, .options, .trace, .connect: false
        default: true
        }
    }

    /// The request's URL, and the URLs of the same origin that the answer names; nil after an error.
    static func urls(after head: HTTPResponse, to url: RequestURL) -> [RequestURL]? {
        guard (200..<400).contains(head.status.code) else { return nil }
        let names: [HTTPField.Name] = [.location, .contentLocation]
        let others = names.compactMap { name in head.headerFields[name].flatMap { try? url.resolving($0) } }
        return [url] + others.filter { $0.origin == url.origin }
    }
}
