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

    /// - Parameter latest: up to when the load follows others.
    func use(_ slot: IndexSlot, joins: Bool, until latest: ContinuousClock.Instant) async throws(LoadError) -> Use {
        switch try judged(slot, joins: joins) {
        case .used(let use): use
        case .lacks(let gap, let stored): try await completed(stored, gap, joins: joins, until: latest)
        case .asks(let found, let mayFail, let joins):
            try await validated(found, onError: mayFail, joins: joins, until: latest)
        }
    }

    /// What is to be done with an entry.
    private enum Judgement {
        /// The outcome is decided.
        case used(Use)
        /// The rest is fetched from the server.
        case lacks(Gap, StoredAnswer)
        /// The server is asked whether the entry is still valid.
        case asks(Found, onError: Bool, joins: Bool)
    }

    /// Waits for nothing: the usual hit ends here, and what was read from the store is moved into the answer.
    private func judged(_ slot: IndexSlot, joins: Bool) throws(LoadError) -> Judgement {
        let decision = try presentDecision()
        guard let stored = cache.read(slot, of: request.url, context.principal, under: place.trust) else {
            cache.drop(slot)
            return .used(.again(joins: joins))
        }
        guard stored.answer.way == CachedAnswer.Way(decision.route) else { return .used(.unsuitable) }
        guard let part = part(of: stored.answer) else {
            guard !staysInside, let gap = gap(in: stored) else { return .used(.unsuitable) }
            return .lacks(gap, stored)
        }
        let now = cache.now()
        switch rules.decide(stored.answer, now: now) {
        case .use(let isStale):
            return .used(answered(with: consume stored, part, decision, isStale ? .stale : .hit, at: now))
        case .useAndValidate where staysInside || !context.hasResponder:
            if !staysInside { validateBehind(stored) }
            return .used(answered(with: stored, part, decision, .stale, at: now))
        case .useAndValidate:
            // The app decides on the server's trust, and cannot be asked by a revalidation in the background.
            return .asks(Found(stored: stored, part: part, decision: decision), onError: true, joins: joins)
        case .validate(let mayFail, let isShared):
            if staysInside { return .used(.answered(try nothingStored())) }
            let found = Found(stored: stored, part: part, decision: decision)
            return .asks(found, onError: mayFail, joins: joins && isShared)
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
        with stored: consuming StoredAnswer, _ part: StoredPart, _ decision: consuming RouteDecision,
        _ result: CacheResult, at now: CacheTime, sent: HTTPFields = HTTPFields()
    ) -> Use {
        let slot = stored.slot
        var facts = LoadFacts()
        facts.decision = consume decision
        facts.sentNow = sent
        facts.cache = result
        guard let response = response(from: consume stored, part, at: now, facts) else {
            cache.drop(slot)
            return .again(joins: mayJoin)
        }
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

    func lead(joins: Bool, until latest: ContinuousClock.Instant) async throws(LoadError) -> Lead {
        guard joins else { return .own(nil) }
        switch cache.join(key) {
        case .follow(let flight): return .again(joins: try await follow(flight, until: latest))
        case .nothing(let own): return .own(own)
        case .off, .slot: return .own(nil)
        }
    }

    private func validated(
        _ found: Found, onError mayFail: Bool, joins: Bool, until latest: ContinuousClock.Instant
    ) async throws(LoadError) -> Use {
        guard isGet, !terms.hasRange, terms.conditions.isEmpty else { return .unsuitable }
        switch try await lead(joins: joins, until: latest) {
        case .again(let joins): return .again(joins: joins)
        case .own(let lead): return try await validate(found, onError: mayFail, lead: lead)
        }
    }

    /// Asks the server whether the entry is still valid (§4.3).
    private func validate(_ found: Found, onError mayFail: Bool, lead: FlightLead?) async throws(LoadError) -> Use {
        let answer: Validated
        do throws(LoadError) {
            answer = try await askServer(about: found.stored, onError: mayFail, lead: lead)
        } catch {
            // A stale entry may stand in only if the server could not be reached, not, for example, if its chain does
            // not verify.
            guard mayFail, error.code.isTransient else { throw error }
            return answered(with: found.stored, found.part, found.decision, .stale, at: cache.now())
        }
        switch answer {
        case .holds(let fresh, let sent):
            return answered(with: fresh, found.part, found.decision, .revalidated, at: cache.now(), sent: sent)
        case .failed(let response):
            await response.drain()
            return answered(
                with: found.stored, found.part, found.decision, .stale, at: cache.now(),
                sent: response.head.headerFields)
        case .other(let response):
            note(.changed)
            return .answered(response.told(.changed))
        }
    }
}
