internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

// MARK: Requests to the server, and their answers

extension CachedLoad {
    /// Sends a request, and stores its answer if that is allowed.
    func forward(_ sent: LoadRequest, lead: FlightLead?) async throws(LoadError) -> LoadResponse {
        let (start, requested) = (cache.removalCount, cache.now())
        let response = try await next.load(sent, in: context)
        return received(response, at: start, requested: requested, lead: lead)
    }

    /// The server's answer about an entry.
    enum Validated {
        /// The entry is still valid; with the fields that the server sent now.
        case holds(StoredAnswer, sent: HTTPFields)
        /// An error in spite of which the entry may be used (RFC 5861 §4). It is not stored: the entry stays.
        case failed(LoadResponse)
        case other(LoadResponse)
    }

    /// - Parameter mayFail: whether the entry may be used if the server answers with an error or cannot be reached. The
    ///   question then does not wait for connectivity: without a connection there is an answer already.
    func askServer(
        about stored: StoredAnswer, onError mayFail: Bool, lead: FlightLead?
    ) async throws(LoadError) -> Validated {
        try await (mayFail ? notWaiting : self).ask(about: stored, onError: mayFail, lead: lead)
    }

    /// The same load with a request that fails at once if there is no connection.
    private var notWaiting: CachedLoad {
        var request = request
        request.options.waitsForConnectivity = false
        return sendingAgain(request)
    }

    private func ask(
        about stored: StoredAnswer, onError mayFail: Bool, lead: FlightLead?
    ) async throws(LoadError) -> Validated {
        guard let fields = Validation.fields(request.headerFields, asking: stored.answer.validators) else {
            return try await askAnew(about: stored, onError: mayFail, lead: lead)
        }
        var conditional = request
        conditional.headerFields = fields
        let (start, requested) = (cache.removalCount, cache.now())
        let response = try await next.load(conditional, in: context)
        guard response.head.status.code == 304 else {
            return other(response, than: stored, onError: mayFail, at: start, requested: requested, lead: lead)
        }
        await response.drain()
        let isComparable = response.cameLike(stored)
        if isComparable, stored.answer.validators.areConfirmed(by: Validators(response.head.headerFields)) {
            let fresh = freshened(stored, by: response, requested: requested, lead: lead)
            return .holds(fresh, sent: response.head.headerFields)
        }
        // It refers to another answer than the stored one (§4.3.4).
        if isComparable { cache.drop(stored.slot) }
        let again = await tellAbove(response.fieldsSentNow)
        return try await sendingAgain(again).askAnew(about: stored, onError: mayFail, lead: lead)
    }

    /// Tells the stages above what the server has sent in an answer that this load does not return: its cookies count
    /// like those of any other.
    ///
    /// - Returns: the request as it is to be sent if it is sent again.
    @discardableResult
    func tellAbove(_ sent: HTTPFields) async -> LoadRequest {
        await next.tellAbove(sent, answering: request, in: context)
    }

    private func askAnew(
        about stored: StoredAnswer, onError mayFail: Bool, lead: FlightLead?
    ) async throws(LoadError) -> Validated {
        let (start, requested) = (cache.removalCount, cache.now())
        let response = try await next.load(request, in: context)
        return other(response, than: stored, onError: mayFail, at: start, requested: requested, lead: lead)
    }

    private func other(
        _ response: LoadResponse, than stored: StoredAnswer, onError mayFail: Bool, at start: UInt64,
        requested: CacheTime, lead: FlightLead?
    ) -> Validated {
        if mayFail, response.cameLike(stored), ReuseRules.isError(response.head.status) {
            return .failed(refused(response, lead))
        }
        replaceIfOutdated(stored, by: response)
        return .other(received(response, at: start, requested: requested, lead: lead))
    }

    /// If the connection was made by the app's own trust decision, the stored entry is left unchanged: the server's
    /// fields then count for this load only.
    private func freshened(
        _ stored: StoredAnswer, by response: LoadResponse, requested: CacheTime, lead: FlightLead? = nil
    ) -> StoredAnswer {
        let fields = response.head.headerFields
        guard !response.facts.isForThisLoadOnly else {
            return stored.freshened(
                with: fields, CacheControl(fields), requested: requested, received: cache.now())
        }
        return cache.freshen(
            stored, with: fields, for: selecting, requested: requested, received: cache.now(), lead: lead)
    }

    /// A new answer outdates the stored one, which is removed even if the new one cannot be stored; an error of the
    /// server outdates nothing.
    func replaceIfOutdated(_ stored: StoredAnswer, by response: LoadResponse) {
        guard response.head.status.code < 500, !response.facts.isForThisLoadOnly, response.cameLike(stored) else {
            return
        }
        cache.drop(stored.slot)
    }

    /// Processes an answer: returns it with a body that is stored while it is read, or unchanged.
    func received(
        _ response: LoadResponse, at start: UInt64, requested: CacheTime, lead: FlightLead?
    ) -> LoadResponse {
        guard !response.facts.isForThisLoadOnly else { return refused(response, lead) }
        guard isGet, StorageRules.isWorthALook(response.head) else {
            learn(from: response, requested: requested)
            return refused(response, lead)
        }
        let (head, received) = (response.head, cache.now())
        let control = CacheControl(head.headerFields)
        guard StorageRules.verdict(on: head, control, to: terms, received: received) == .store,
            let writer = writer(for: response, control, (start, requested, received), lead)
        else { return refused(response, lead) }
        lead?.flight.progressed()
        var response = response
        response.body = ResponseBody(StoringBody(response.body, into: writer))
        return response
    }

    private func refused(_ response: LoadResponse, _ lead: FlightLead?) -> LoadResponse {
        guard let lead else { return response }
        cache.provedUnstorable(key)
        lead.land(.notStorable)
        return response
    }

    private func writer(
        for response: LoadResponse, _ control: CacheControl,
        _ moments: (start: UInt64, requested: CacheTime, received: CacheTime), _ lead: FlightLead?
    ) -> EntryWriter? {
        let fields = response.head.headerFields
        let limit = cache.state.withLock { $0.settings.longestBody }
        guard limit > 0, let storage = cache.storage,
            let names = Variation.names(in: fields, answering: selecting), isSelected(by: names),
            let way = response.facts.decision.flatMap({ CachedAnswer.Way($0.route) }),
            fields[.contentLength].map({ Int64($0) ?? .max <= limit }) ?? true
        else { return nil }
        let answer = CachedAnswer(
            principal: context.principal.name, url: request.url.absoluteText, way: way, trust: place.trust,
            requested: moments.requested, received: moments.received, status: response.head.status,
            fields: StorageRules.stored(fields, control),
            parts: response.head.status.code == 206 ? ContentRange(of: fields).map { StoredParts($0) } : nil,
            length: 0, isStreamed: false)
        let slot = IndexSlot(
            id: .random(), url: key.url, host: cache.keys.hash(of: endpoint.host),
            origin: cache.keys.hash(ofOrigin: request.url.origin), principal: key.principal, scope: key.scope,
            names: names, variation: cache.keys.variation(of: names, in: selecting), size: 0,
            received: moments.received, dated: Freshness.date(of: fields, received: moments.received),
            used: moments.received)
        let draft = EntryWriter.Draft(
            answer: answer, slot: slot, start: moments.start, keepsParts: !response.facts.isProvedAtEnd)
        return EntryWriter(draft, in: storage, of: cache, limit: limit, lead: lead)
    }

    // MARK: Updates of entries

    /// Updates an entry from an answer that does not replace it: one to the app's own condition (§4.3.4), or one to a
    /// `HEAD` (§4.3.5).
    private func learn(from response: LoadResponse, requested: CacheTime) {
        let head = response.head
        guard head.status.code == 304 || (!isGet && head.status.code == 200),
            case .slot(let slot) = cache.find(key, for: selecting, joins: false),
            let stored = cache.read(slot, of: request.url, context.principal, under: place.trust),
            stored.answer.parts == nil, response.cameLike(stored)
        else { return }
        if isGet {
            let said = Validators(head.headerFields)
            guard !said.isEmpty, stored.answer.validators.areConfirmed(by: said) else { return }
        } else if !Validation.isConfirmed(stored.answer, byHead: head) {
            return cache.drop(slot)
        }
        guard !terms.control.noStore else { return }
        _ = freshened(stored, by: response, requested: requested)
    }
}

extension LoadResponse {
    /// Whether the response came by the same kind of route as what is stored. By another one the same name may lead to
    /// another server, whose answers say nothing about what is stored.
    func cameLike(_ stored: StoredAnswer) -> Bool {
        facts.decision.flatMap { CachedAnswer.Way($0.route) } == stored.answer.way
    }
}
