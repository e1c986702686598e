internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// One `GET` or `HEAD` that the cache handles.
struct CachedLoad: Sendable {
    /// The cache and the keys for the look-up.
    struct Place: Sendable {
        let cache: SecureCache
        let gate: any AccessGate
        let endpoint: Endpoint
        let policy: CachePolicy
        let key: RequestKey
        /// The trust scope under which responses are stored and used here.
        let trust: TrustScope
    }

    private(set) var request: LoadRequest
    /// The fields by which answers are selected: those of the request as it came to the cache.
    let selecting: HTTPFields
    let context: LoadContext
    let next: LoadChain
    let place: Place
    let terms: RequestTerms

    init(_ request: LoadRequest, in context: LoadContext, next: LoadChain, at place: Place) {
        self.request = request
        let fields = request.headerFields
        selecting = context.isToBeSigned ? place.cache.marked(fields) : fields
        self.context = context
        self.next = next
        self.place = place
        terms = RequestTerms(fields)
    }

    /// The same load with the request as it is sent again: its cookies may have been renewed. It looks for the same
    /// stored answers.
    func sendingAgain(_ request: LoadRequest) -> CachedLoad {
        var load = self
        load.request = request
        return load
    }

    /// Whether an answer to what is sent may be stored for the selecting fields of these names. An answer to renewed
    /// cookies is not one to the earlier ones (RFC 9111 §4.1).
    func isSelected(by names: [String]) -> Bool {
        guard names.contains(HTTPField.Name.cookie.canonicalName) else { return true }
        return request.headerFields[values: .cookie] == selecting[values: .cookie]
    }

    var cache: SecureCache { place.cache }
    var gate: any AccessGate { place.gate }
    var endpoint: Endpoint { place.endpoint }
    var policy: CachePolicy { place.policy }
    var key: RequestKey { place.key }

    /// How often a load looks again, after damaged entries and failed flights.
    private static let rounds = 4

    var isGet: Bool { request.method == .get }

    /// Whether nothing may be sent (RFC 9111 §5.2.1.7).
    var staysInside: Bool { policy == .returnCacheDataDontLoad || terms.control.onlyIfCached }

    /// Whether only the server can answer the request: because of its policy, the app's own conditions, whose answer
    /// the app needs, or ranges that are not understood here.
    var isForServer: Bool {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return true
        default: break
        }
        guard !staysInside else { return false }
        let isRange = isGet && terms.hasRange
        if !terms.conditions.isEmpty, !(isRange && terms.conditions == [.ifRange]) { return true }
        return isRange && ByteRange(request.headerFields) == nil
    }

    /// Whether the load may wait for an equal one. A request in an authentication may not: its answer depends on the
    /// connection.
    var mayJoin: Bool {
        isGet && !terms.hasRange && terms.conditions.isEmpty && !terms.control.noStore && !staysInside
            && policy != .reloadRevalidatingCacheData && context.connection?.isLeg != true
    }

    func run() async throws(LoadError) -> LoadResponse {
        if isForServer {
            note(.bypassed)
            return try await forward(request.sent(under: policy), lead: nil).told(.bypassed)
        }
        var joins = mayJoin
        // For all flights together that the load follows.
        let latest = min(context.deadline, .now + cache.patience.head)
        for _ in 0..<Self.rounds {
            switch cache.find(key, for: selecting, joins: joins) {
            case .off:
                guard policy != .returnCacheDataDontLoad else { throw Self.nothingStored }
                return try await next.load(request, in: context)
            case .nothing(let lead): return try await miss(lead)
            case .follow(let flight): joins = try await follow(flight, until: latest)
            case .slot(let slot):
                switch try await use(slot, joins: joins, until: latest) {
                case .answered(let response): return response
                case .unsuitable: return try await miss(nil)
                case .again(let mayJoin): joins = mayJoin
                }
            }
        }
        return try await miss(nil)
    }

    /// - Returns: whether to join another flight after this one.
    func follow(_ flight: Flight, until latest: ContinuousClock.Instant) async throws(LoadError) -> Bool {
        let landing = try await flight.follow(cache.patience, until: latest)
        return landing == .ended && mayJoin
    }

    private func miss(_ lead: FlightLead?) async throws(LoadError) -> LoadResponse {
        note(.miss)
        if staysInside { return try nothingStored() }
        return try await forward(request, lead: lead).told(.miss)
    }

    /// - Throws: `notInCache` because of the policy; for the directive there is an answer instead (RFC 9111 §5.2.1.7).
    func nothingStored() throws(LoadError) -> LoadResponse {
        guard policy != .returnCacheDataDontLoad else { throw Self.nothingStored }
        return LoadResponse(
            head: HTTPResponse(status: .gatewayTimeout), url: request.url, body: ResponseBody()
        ).told(.miss)
    }

    static var nothingStored: LoadError {
        LoadError(.notInCache, at: .request, "Nothing is stored that may answer the request.")
    }

    // MARK: Reports

    func note(_ result: CacheResult) {
        if result == .miss { cache.count(.miss) }
        context.recorder?.decided(.cache, result.rawValue)
    }
}

extension LoadResponse {
    /// The response with the cache's result.
    func told(_ result: CacheResult) -> LoadResponse {
        var told = self
        told.facts.cache = result
        return told
    }
}

extension SecureCache {
    func count(_ result: CacheResult) {
        state.withLock { state in
            switch result {
            case .hit, .stale: state.counts.hits += 1
            case .miss: state.counts.misses += 1
            case .revalidated, .completed: state.counts.revalidations += 1
            case .changed, .bypassed: break
            }
        }
    }
}
