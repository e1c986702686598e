internal import HTTPTypes
internal import Logging
internal import SallyportCore

/// One `GET` or `HEAD` on its way past the cache.
struct CachedLoad: Sendable {
    /// What it is looked up by, and where.
    struct Place: Sendable {
        let cache: SecureCache
        let gate: any AccessGate
        let endpoint: Endpoint
        let policy: CachePolicy
        let key: RequestKey
    }

    let request: LoadRequest
    /// What answers are chosen by: ``request``, with a mark in place of a proof that is made only when it is sent.
    let selecting: LoadRequest
    let context: LoadContext
    let next: LoadChain
    let place: Place
    let terms: RequestTerms

    init(_ request: LoadRequest, in context: LoadContext, next: LoadChain, at place: Place) {
        self.request = request
        selecting = context.signer == nil ? request : place.cache.marked(request)
        self.context = context
        self.next = next
        self.place = place
        terms = RequestTerms(request.headerFields)
    }

    var cache: SecureCache { place.cache }
    var gate: any AccessGate { place.gate }
    var endpoint: Endpoint { place.endpoint }
    var policy: CachePolicy { place.policy }
    var key: RequestKey { place.key }

    /// How often a load looks again, after entries that were damaged and flights that came to nothing.
    private static let rounds = 4

    var isGet: Bool { request.method == .get }

    /// Whether nothing may be sent (RFC 9111 §5.2.1.7).
    private var staysInside: Bool { policy == .returnCacheDataDontLoad || terms.control.onlyIfCached }

    /// Whether the request is one for its server alone: by its policy, by conditions of the app's own, whose answer is
    /// the app's too, or by ranges that are not understood here.
    private var isForServer: Bool {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return true
        default: break
        }
        guard !staysInside else { return false }
        let isRange = isGet && terms.hasRange
        if !terms.conditions.isEmpty, !(isRange && terms.conditions == [.ifRange]) { return true }
        return isRange && ByteRange(request.headerFields) == nil
    }

    /// Whether the load may wait for an equal one. A leg of an authentication may not: its answer is one to its connection.
    private var mayJoin: Bool {
        isGet && !terms.hasRange && terms.conditions.isEmpty && !terms.control.noStore && !staysInside
            && policy != .reloadRevalidatingCacheData && context.connection?.isLeg != true
    }

    func run() async throws(LoadError) -> LoadResponse {
        if isForServer {
            note(.bypassed)
            return try await forward(reloading(), lead: nil)
        }
        var joins = mayJoin
        for _ in 0..<Self.rounds {
            switch cache.find(key, for: selecting, joins: joins) {
            case .off:
                guard policy != .returnCacheDataDontLoad else { throw Self.nothingStored }
                return try await next.load(request, in: context)
            case .nothing(let lead): return try await miss(lead)
            case .follow(let flight): joins = try await follow(flight)
            case .slot(let slot):
                switch try await use(slot, joins: joins) {
                case .answered(let response): return response
                case .unsuitable: return try await miss(nil)
                case .again(let mayJoin): joins = mayJoin
                }
            }
        }
        return try await miss(nil)
    }

    /// - Returns: whether to join another flight after this one.
    private func follow(_ flight: Flight) async throws(LoadError) -> Bool {
        let landing = try await flight.follow(cache.patience, until: context.deadline)
        return landing == .ended && mayJoin
    }

    /// With what tells caches on the way to ask the server too.
    private func reloading() -> LoadRequest {
        guard policy == .reloadIgnoringLocalAndRemoteCacheData else { return request }
        var request = request
        if request.headerFields[.cacheControl] == nil { request.headerFields[.cacheControl] = "no-cache" }
        if request.headerFields[.pragma] == nil { request.headerFields[.pragma] = "no-cache" }
        return request
    }

    private func miss(_ lead: FlightLead?) async throws(LoadError) -> LoadResponse {
        note(.miss)
        if staysInside { return try nothingStored() }
        return try await forward(request, lead: lead)
    }

    /// - Throws: `notInCache` by the policy; by the directive there is an answer (RFC 9111 §5.2.1.7).
    private func nothingStored() throws(LoadError) -> LoadResponse {
        guard policy != .returnCacheDataDontLoad else { throw Self.nothingStored }
        return LoadResponse(
            head: HTTPResponse(status: .gatewayTimeout), url: request.url, body: ResponseBody())
    }

    static var nothingStored: LoadError {
        LoadError(.notInCache, at: .request, "Nothing is stored that may answer the request.")
    }

    // MARK: Entries

    private enum Use {
        case answered(LoadResponse)
        /// The entry may not serve this request.
        case unsuitable
        case again(joins: Bool)
    }

    private func use(_ slot: IndexSlot, joins: Bool) async throws(LoadError) -> Use {
        let way = try presentWay()
        guard let stored = cache.read(slot, of: request.url, context.principal) else {
            cache.drop(slot)
            return .again(joins: joins)
        }
        guard stored.answer.way == way, let part = part(of: stored) else { return .unsuitable }
        switch rules.decide(stored.answer, now: cache.now()) {
        case .use(let isStale): return answered(with: stored, part, isStale ? .stale : .hit)
        case .useAndValidate:
            if !staysInside { validateBehind(stored) }
            return answered(with: stored, part, .stale)
        case .validate(let mayFail, let isShared):
            if staysInside { return .answered(try nothingStored()) }
            return try await validated(stored, part, onError: mayFail, joins: joins && isShared)
        }
    }

    private var rules: ReuseRules {
        ReuseRules(
            policy: policy, request: terms.control,
            longestAge: cache.maxCacheFileAge.map { max(0, $0.components.seconds) })
    }

    /// By which kind of route the request would go now.
    ///
    /// - Throws: `refusedByPolicy` where it may not go; `notAuthorized`, `withdrawn`.
    private func presentWay() throws(LoadError) -> CachedAnswer.Way {
        let access: ServerAccess
        do throws(AccessDenied) {
            access = try gate.access(to: endpoint)
        } catch {
            throw LoadError(error)
        }
        guard let way = CachedAnswer.Way(access.decision.route) else {
            throw LoadError(AccessDenied(.denied(access.decision)))
        }
        return way
    }

    private func answered(with stored: StoredAnswer, _ part: StoredPart, _ result: CacheResult) -> Use {
        guard let response = response(from: stored, part) else {
            cache.drop(stored.slot)
            return .again(joins: mayJoin)
        }
        cache.count(result)
        cache.noteUse(of: stored.slot)
        note(result)
        return .answered(response)
    }

    private func validated(
        _ stored: StoredAnswer, _ part: StoredPart, onError mayFail: Bool, joins: Bool
    ) async throws(LoadError) -> Use {
        guard isGet, !terms.hasRange, terms.conditions.isEmpty else { return .unsuitable }
        var lead: FlightLead?
        if joins {
            switch cache.join(key) {
            case .follow(let flight): return .again(joins: try await follow(flight))
            case .nothing(let own): lead = own
            case .off, .slot: break
            }
        }
        return try await validate(stored, part, onError: mayFail, lead: lead)
    }

    /// Asks the server whether the entry holds (§4.3).
    private func validate(
        _ stored: StoredAnswer, _ part: StoredPart, onError mayFail: Bool, lead: FlightLead?
    ) async throws(LoadError) -> Use {
        let answer: Validated
        do throws(LoadError) {
            answer = try await askServer(about: stored, lead: lead)
        } catch {
            // What is no fault of the way to the server, as a chain that does not verify, is never covered up.
            guard mayFail, error.code.isTransient else { throw error }
            return answered(with: stored, part, .stale)
        }
        switch answer {
        case .holds(let fresh, let proof):
            let use = answered(with: fresh, part, .revalidated)
            guard case .answered(var response) = use, !proof.isEmpty else { return use }
            response.head.headerFields.append(contentsOf: proof)
            return .answered(response)
        case .other(let response):
            if mayFail, ReuseRules.isError(response.head.status) {
                await response.drain()
                return answered(with: stored, part, .stale)
            }
            note(.changed)
            return .answered(response)
        }
    }

    // MARK: Telling

    func note(_ result: CacheResult) {
        if result == .miss { cache.count(.miss) }
        context.recorder?.decided(.cache, result.rawValue)
    }
}

/// What the cache did for a load, as records and metrics name it.
enum CacheResult: String, Sendable {
    /// Answered without the server.
    case hit
    /// Nothing stored could answer.
    case miss
    /// The server said that what is stored holds.
    case revalidated
    /// The server was asked about what is stored and sent another answer.
    case changed
    /// Answered without the server, or though it failed, with what is no longer fresh.
    case stale
    /// The request was the server's alone.
    case bypassed
}

extension SecureCache {
    func count(_ result: CacheResult) {
        state.withLock { state in
            switch result {
            case .hit, .stale: state.counts.hits += 1
            case .miss: state.counts.misses += 1
            case .revalidated: state.counts.revalidations += 1
            case .changed, .bypassed: break
            }
        }
    }
}
