internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportSecureStore
internal import Synchronization

/// An entry that was read and can answer a request.
struct StoredAnswer: Sendable {
    let slot: IndexSlot
    var answer: CachedAnswer
    /// The body, if it is short.
    let body: [UInt8]

    /// The answer after the server has confirmed that it is still valid.
    func freshened(
        with fields: HTTPFields, _ control: CacheControl, requested: CacheTime, received: CacheTime
    ) -> StoredAnswer {
        var fresh = self
        fresh.answer.fields = Validation.merged(answer.fields, with: fields, control)
        (fresh.answer.requested, fresh.answer.received) = (requested, received)
        fresh.answer.measure()
        return fresh
    }
}

// MARK: Finding

extension SecureCache {
    enum Finding: Sendable {
        /// The cache is switched off.
        case off
        case slot(IndexSlot)
        /// There is no entry; with a lead, other loads wait for this one.
        case nothing(FlightLead?)
        /// Another load may provide it.
        case follow(Flight)
    }

    /// Searches the index only.
    ///
    /// - Parameters:
    ///   - fields: the request's, by which the answer is selected.
    ///   - joins: whether the load may wait for another, and other loads for it.
    func find(_ key: RequestKey, for fields: HTTPFields, joins: Bool) -> Finding {
        state.withLock { state in
            guard state.isReady, state.settings.longestBody > 0 else { return .off }
            // An answer that is being written is newer than the stored one.
            if let flight = state.flights[key], flight.isCommitting { return .follow(flight) }
            if let slot = state.index.slot(key, variation: { keys.variation(of: $0, in: fields) }) {
                return .slot(slot)
            }
            return lead(key, joins: joins, &state)
        }
    }

    /// ``removalCount`` if there is no entry for the request and its last answer could not be stored; otherwise nil.
    func startOfUnstorable(_ key: RequestKey) -> UInt64? {
        state.withLock { state in
            guard state.unstorable.contains(key), state.isReady, !state.index.has(key.url) else { return nil }
            state.counts.misses += 1
            return state.removals.count
        }
    }

    /// As ``find(_:for:joins:)`` for an entry that must be validated: waits for the load that already does so, or
    /// leads.
    func join(_ key: RequestKey) -> Finding { state.withLock { lead(key, joins: true, &$0) } }

    private func lead(_ key: RequestKey, joins: Bool, _ state: inout State) -> Finding {
        if let flight = state.flights[key] {
            return joins || flight.isCommitting ? .follow(flight) : .nothing(nil)
        }
        guard joins, !state.unstorable.contains(key) else { return .nothing(nil) }
        let flight = Flight()
        state.flights[key] = flight
        return .nothing(FlightLead(flight) { [self] flight in landed(flight, key) })
    }

    private func landed(_ flight: Flight, _ key: RequestKey) {
        state.withLock { if $0.flights[key] === flight { $0.flights[key] = nil } }
    }

    /// For an answer that is stored without a flight: loads that arrive until it is written wait for it.
    func leadOfCommit(_ key: RequestKey) -> FlightLead? {
        let finding = state.withLock { state in
            state.unstorable.remove(key)
            return self.lead(key, joins: true, &state)
        }
        if case .nothing(let lead) = finding { return lead }
        return nil
    }

    func provedUnstorable(_ key: RequestKey) {
        state.withLock { $0.unstorable.insert(key) }
        knowsUnstorable.store(true, ordering: .relaxed)
    }

    /// The number of removals; an answer that was requested before a removal is not stored after it.
    var removalCount: UInt64 { state.withLock { $0.removals.count } }

    // MARK: Reading

    /// Nil if the entry cannot be read, or belongs to another request (equal hashes or exchanged records).
    func read(
        _ slot: IndexSlot, of url: RequestURL, _ principal: Principal, under trust: TrustScope
    ) -> StoredAnswer? {
        guard let storage, let (answer, body) = storage.answer(slot.id) else { return nil }
        guard Principal(answer.principal) == principal, url.isWritten(as: answer.url), answer.trust == trust else {
            return nil
        }
        return StoredAnswer(slot: slot, answer: answer, body: body)
    }

    /// Reads a whole body that is not stored in pieces.
    func body(of stored: StoredAnswer) -> [UInt8]? {
        guard stored.answer.isStreamed else { return stored.body }
        guard let chunks = storage?.body(stored.slot.id) else { return nil }
        var (iterator, body) = (chunks.makeAsyncIterator(), [UInt8]())
        body.reserveCapacity(chunks.count)
        do throws(StoreError) {
            while let piece = try iterator.nextPiece() { body += piece }
        } catch { return nil }
        return Int64(body.count) == stored.answer.length ? body : nil
    }
}

// MARK: Writing

extension SecureCache {
    /// Makes the changes that store an entry, and adds it to the index once they are durable.
    ///
    /// - Parameters:
    ///   - start: ``removalCount`` when the request was sent.
    ///   - bytes: how many bytes of the body they contain; if too many are waiting already, the entry is given up.
    ///   - undo: removes what was written of the entry before.
    func commit(
        _ changes: [EntryStorage.Change], _ slot: IndexSlot, startedAt start: UInt64, bytes: Int, lead: FlightLead?,
        undo: @escaping @Sendable () -> Void
    ) {
        let pending = pendingBytes.add(bytes, ordering: .relaxed).newValue
        guard let storage, pending <= EntryWriter.pendingLimit, !isRemoved(slot, since: start) else {
            pendingBytes.subtract(bytes, ordering: .relaxed)
            undo()
            lead?.land(.ended)
            return
        }
        let lead = lead ?? leadOfCommit(slot.key)
        lead?.flight.commits()
        storage.store.submit({ [self] transaction in
            try checkGate()
            // Once more, when the store's writer runs this change: a removal waits for what was queued before it, and
            // not for what is queued after it.
            guard !isRemoved(slot, since: start) else { throw CancellationError() }
            for change in changes { try change(transaction) }
        }) { [self] result in
            pendingBytes.subtract(bytes, ordering: .relaxed)
            switch result {
            case .success:
                entered(slot, startedAt: start)
                lead?.land(.stored)
            case .failure:
                undo()
                lead?.land(.ended)
            }
        }
    }

    private func isRemoved(_ slot: IndexSlot, since start: UInt64) -> Bool {
        state.withLock { $0.removals.hasRemoved(slot.url, since: start) || !$0.isReady }
    }

    private func entered(_ slot: IndexSlot, startedAt start: UInt64) {
        let gone = state.withLock { state in
            guard state.isReady, !state.removals.hasRemoved(slot.url, since: start) else { return [slot] }
            state.counts.stores += 1
            state.unstorable.remove(slot.key)
            return state.index.insert(slot)
        }
        submitRemoval(of: gone.map(\.id))
        evictIfNeeded()
    }

    /// Joins a part with the stored parts of the same response (RFC 9111 §3.4), if both have the same strong validator.
    ///
    /// - Parameters:
    ///   - slot: the part's slot; the entry that it would replace is the one that it is joined with.
    ///   - isStreamed: whether the part's body is already in the store, so that nothing can be added before or after
    ///     it.
    /// - Returns: whether the part is worth storing: it must not replace a longer part of the same response.
    func join(
        _ answer: inout CachedAnswer, _ body: inout [UInt8], in slot: IndexSlot, isStreamed: Bool, limit: Int64
    ) -> Bool {
        guard let storage, let standing = state.withLock({ $0.index.standing(inPlaceOf: slot).first }),
            let (old, inline) = storage.answer(standing.id), let tag = answer.validators.strongTag,
            tag == old.validators.strongTag, old.way == answer.way
        else { return true }
        guard let stored = old.parts, let range = answer.parts?.ranges.first else { return false }
        guard !isStreamed else { return answer.length > old.length }
        guard let other = self.body(of: StoredAnswer(slot: standing, answer: old, body: inline)),
            let both = PartialBody(stored, other).adding(range, body)
        else { return true }
        guard Int64(both.bytes.count) <= limit else { return answer.length > old.length }
        // The fields of a 200 replace the stored ones; those of a 206 update them (§3.2).
        if answer.status == .partialContent {
            answer.fields = Validation.merged(old.fields, with: answer.fields, answer.control)
        }
        (answer.parts, answer.length, body) = (both.parts, Int64(both.bytes.count), both.bytes)
        return true
    }

    /// The server confirmed an entry: its fields are updated (§4.3.4).
    ///
    /// - Returns: the entry as it is stored now.
    func freshen(
        _ stored: StoredAnswer, with fields: HTTPFields, for selecting: HTTPFields, requested: CacheTime,
        received: CacheTime, lead: FlightLead?
    ) -> StoredAnswer {
        let control = CacheControl(fields)
        let fresh = stored.freshened(with: fields, control, requested: requested, received: received)
        let answer = fresh.answer
        var slot = fresh.slot
        guard !control.noStore, !RequestTerms(selecting).control.noStore, let storage,
            let names = Variation.names(in: answer.fields, answering: selecting)
        else {
            drop(slot)
            return fresh
        }
        (slot.names, slot.variation) = (names, keys.variation(of: names, in: selecting))
        (slot.received, slot.used) = (received, received)
        slot.dated = Freshness.date(of: answer.fields, received: received)
        let record = answer.bytes(body: stored.body)
        let gone = state.withLock { state -> [IndexSlot]? in
            guard state.index.remove(stored.slot) else { return nil }
            return state.index.insert(slot)
        }
        if let gone { rewrite(slot, record, gone, in: storage, lead: lead ?? leadOfCommit(slot.key)) }
        return StoredAnswer(slot: slot, answer: answer, body: stored.body)
    }

    private func rewrite(
        _ slot: IndexSlot, _ record: [UInt8], _ gone: [IndexSlot], in storage: EntryStorage, lead: FlightLead?
    ) {
        lead?.flight.commits()
        storage.store.submit({ [self] transaction in
            try checkGate()
            try storage.replace(slot, record)(transaction)
            try storage.remove(gone.map(\.id))(transaction)
        }) { [self] result in
            if case .failure = result { couldNotRemove(gone.map(\.id)) }
            lead?.land(.stored)
        }
    }
}
