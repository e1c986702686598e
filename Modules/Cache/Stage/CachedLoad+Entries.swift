internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

// MARK: Use of entries

extension CachedLoad {
    enum Use {
        case answered(LoadResponse)
        /// The entry must not be used for this request.
        case unsuitable
        case again(joins: Bool)
    }

    func use(_ slot: IndexSlot, joins: Bool) async throws(LoadError) -> Use {
        let decision = try presentDecision()
        guard let stored = cache.read(slot, of: request.url, context.principal, under: place.trust) else {
            cache.drop(slot)
            return .again(joins: joins)
        }
        guard stored.answer.way == CachedAnswer.Way(decision.route) else { return .unsuitable }
        guard let part = part(of: stored) else {
            guard !staysInside, let gap = gap(in: stored) else { return .unsuitable }
            return try await completed(stored, gap, joins: joins)
        }
        // Moved on, here and below: the fields are then the answer's alone, and get its age without being copied.
        let found = Found(stored: consume stored, part: part, decision: decision)
        let now = cache.now()
        switch rules.decide(found.stored.answer, now: now) {
        case .use(let isStale): return answered(with: consume found, isStale ? .stale : .hit, at: now)
        case .useAndValidate where staysInside || context.responder == nil:
            if !staysInside { validateBehind(found.stored) }
            return answered(with: found, .stale, at: now)
        case .useAndValidate:
            // The app decides on the server's trust, and cannot be asked by a revalidation in the background.
            return try await validated(found, onError: true, joins: joins)
        case .validate(let mayFail, let isShared):
            if staysInside { return .answered(try nothingStored()) }
            return try await validated(found, onError: mayFail, joins: joins && isShared)
        }
    }

    /// An entry that contains what is requested.
    struct Found {
        let stored: StoredAnswer
        let part: StoredPart
        /// How the server would be reached now.
        let decision: RouteDecision
    }

    var rules: ReuseRules {
        ReuseRules(
            policy: policy, request: terms.control,
            longestAge: cache.maxCacheFileAge.map { max(0, $0.components.seconds) })
    }

    /// The route by which the request would go now.
    ///
    /// - Throws: `refusedByPolicy` if it must not be sent; `notAuthorized`, `withdrawn`.
    func presentDecision() throws(LoadError) -> RouteDecision {
        let access: ServerAccess
        do throws(AccessDenied) {
            access = try gate.access(to: endpoint)
        } catch {
            throw LoadError(error)
        }
        guard access.decision.route != .deny else { throw LoadError(AccessDenied(.denied(access.decision))) }
        return access.decision
    }

    /// - Parameter sent: the fields that the server has sent meanwhile.
    private func answered(
        with found: consuming Found, _ result: CacheResult, at now: CacheTime, sent: HTTPFields = [:]
    ) -> Use {
        let (slot, part, decision) = (found.stored.slot, found.part, found.decision)
        guard var response = response(from: found.stored, part, at: now) else {
            cache.drop(slot)
            return .again(joins: mayJoin)
        }
        response.facts.decision = decision
        response.facts.sentNow = sent
        response.facts.cache = result
        cache.count(result)
        cache.noteUse(of: slot, at: now)
        note(result)
        return .answered(response)
    }

    /// Waits for another load of the same, or becomes the load that others wait for.
    enum Lead {
        case own(FlightLead?)
        case again(joins: Bool)
    }

    func lead(joins: Bool) async throws(LoadError) -> Lead {
        guard joins else { return .own(nil) }
        switch cache.join(key) {
        case .follow(let flight): return .again(joins: try await follow(flight))
        case .nothing(let own): return .own(own)
        case .off, .slot: return .own(nil)
        }
    }

    private func validated(_ found: Found, onError mayFail: Bool, joins: Bool) async throws(LoadError) -> Use {
        guard isGet, !terms.hasRange, terms.conditions.isEmpty else { return .unsuitable }
        switch try await lead(joins: joins) {
        case .again(let joins): return .again(joins: joins)
        case .own(let lead): return try await validate(found, onError: mayFail, lead: lead)
        }
    }

    /// Asks the server whether the entry is still valid (§4.3).
    private func validate(_ found: Found, onError mayFail: Bool, lead: FlightLead?) async throws(LoadError) -> Use {
        let answer: Validated
        do throws(LoadError) {
            answer = try await askServer(about: found.stored, lead: lead)
        } catch {
            // A stale entry may stand in only if the server could not be reached, not, for example, if its chain does
            // not verify.
            guard mayFail, error.code.isTransient else { throw error }
            return answered(with: found, .stale, at: cache.now())
        }
        switch answer {
        case .holds(let fresh, let sent):
            let found = Found(stored: fresh, part: found.part, decision: found.decision)
            return answered(with: found, .revalidated, at: cache.now(), sent: sent)
        case .other(let response):
            if mayFail, ReuseRules.isError(response.head.status) {
                await response.drain()
                return answered(with: found, .stale, at: cache.now(), sent: response.head.headerFields)
            }
            note(.changed)
            return .answered(response.told(.changed))
        }
    }
}
