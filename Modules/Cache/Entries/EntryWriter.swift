internal import HTTPTypes
internal import SallyportCore
internal import SallyportSecureStore
internal import Synchronization

/// An answer on its way into the store while its body goes to the app: encoded octets, in parts.
///
/// Never waits for the store: where that cannot follow, the entry is given up. So it is where the body fails, is left
/// unread or is too long.
final class EntryWriter: Sendable {
    /// What is stored, besides the body.
    struct Draft: Sendable {
        var answer: CachedAnswer
        var slot: IndexSlot
        /// ``Removals/count`` when the request was sent.
        var start: UInt64
        /// What the part that comes is joined with (RFC 9111 §3.4).
        var joins: IndexSlot?
    }

    /// More than this may not wait for the writer, for all entries together.
    static let pendingLimit = 16 << 20

    private struct State {
        var buffer: [UInt8] = []
        var stream: DetachedStream?
        var length: Int64 = 0
        var isOver = false
    }

    private let cache: SecureCache
    private let storage: EntryStorage
    private let draft: Draft
    private let limit: Int64
    private let lead: FlightLead?
    private let state = Lock(State())

    init(_ draft: Draft, in storage: EntryStorage, of cache: SecureCache, limit: Int64, lead: FlightLead?) {
        self.cache = cache
        self.storage = storage
        self.draft = draft
        self.limit = limit
        self.lead = lead
    }

    private enum Step {
        case nothing
        case part([UInt8], EntryStorage.Change)
        case tooLong
    }

    func take(_ chunk: [UInt8]) {
        lead?.flight.progressed()
        let step = state.withLock { taken(chunk, &$0) }
        switch step {
        case .nothing: break
        case .part(let part, let change): submit(part, change)
        case .tooLong: abandon(.notStorable)
        }
    }

    private func taken(_ chunk: [UInt8], _ state: inout State) -> Step {
        guard !state.isOver else { return .nothing }
        state.length += Int64(chunk.count)
        guard state.length <= limit else { return .tooLong }
        state.buffer += chunk
        // A part that is joined with another is collected.
        guard draft.answer.range == nil, state.buffer.count >= DetachedStream.goodPart else { return .nothing }
        let count = state.buffer.count / DetachedStream.goodPart * DetachedStream.goodPart
        let part = Array(state.buffer.prefix(count))
        state.buffer.removeFirst(count)
        var stream = state.stream ?? DetachedStream()
        let change = stream.append(part)
        state.stream = stream
        return .part(part, change)
    }

    private func submit(_ part: [UInt8], _ change: @escaping EntryStorage.Change) {
        let (_, pending) = cache.pendingOctets.add(part.count, ordering: .relaxed)
        guard pending <= Self.pendingLimit else {
            cache.pendingOctets.subtract(part.count, ordering: .relaxed)
            return abandon(.notStorable)
        }
        storage.store.submit(change) { [self] result in
            cache.pendingOctets.subtract(part.count, ordering: .relaxed)
            if case .failure = result { abandon(.notStorable) }
        }
    }

    /// No entry comes of it.
    func abandon(_ landing: Flight.Landing) {
        let (isFirst, stream) = state.withLock { state in
            defer { (state.isOver, state.buffer, state.stream) = (true, [], nil) }
            return (!state.isOver, state.stream)
        }
        guard isFirst else { return }
        if let change = stream?.abandon() { storage.store.submit(change) }
        if landing == .notStorable { cache.provedUnstorable(draft.slot.key) }
        lead?.land(landing)
    }

    /// The body was whole.
    func finish() {
        let done = state.withLock { state -> (buffer: [UInt8], stream: DetachedStream?, length: Int64)? in
            guard !state.isOver else { return nil }
            defer { (state.isOver, state.buffer, state.stream) = (true, [], nil) }
            return (state.buffer, state.stream, state.length)
        }
        guard let done else { return }
        guard isAsLongAsSaid(done.length) else {
            if let change = done.stream?.abandon() { storage.store.submit(change) }
            lead?.land(.ended)
            return
        }
        var (answer, body) = (draft.answer, done.buffer)
        answer.length = done.length
        if let slot = draft.joins { cache.join(&answer, &body, with: slot, limit: limit) }
        if answer.range?.isWhole == true { answer.becomeWhole() }
        commit(answer, body, done.stream)
    }

    /// A body that is shorter or longer than its length says is no whole one (RFC 9112 §8).
    private func isAsLongAsSaid(_ length: Int64) -> Bool {
        if let range = draft.answer.range { return length == range.count }
        guard let text = draft.answer.fields[.contentLength] else { return true }
        return ByteRange.number(text[...]) == length
    }

    private func commit(_ answer: CachedAnswer, _ body: [UInt8], _ stream: DetachedStream?) {
        var (answer, stream) = (answer, stream)
        var changes: [EntryStorage.Change] = []
        let id = draft.slot.id
        if stream != nil || body.count > EntryStorage.inlineLimit {
            answer.isStreamed = true
            var whole = stream ?? DetachedStream()
            if !body.isEmpty { changes.append(whole.append(body)) }
            changes.append(whole.finish(id.octets, in: storage.bodies))
            stream = whole
        }
        answer.measure()
        let record = answer.octets(body: answer.isStreamed ? [] : body)
        var slot = draft.slot
        slot.size = Int64(record.count) + (answer.isStreamed ? answer.length : 0) + IndexSlot.overhead
        changes.append(storage.put(slot, record))
        cache.commit(changes, slot, startedAt: draft.start, octets: body.count, lead: lead) { [storage, stream] in
            if let change = stream?.abandon() { storage.store.submit(change) }
        }
    }
}

extension IndexSlot {
    var key: RequestKey { RequestKey(url: url, principal: principal) }
}

extension CachedAnswer {
    /// All parts are there: it is what the server would have answered without a range.
    mutating func becomeWhole() {
        range = nil
        status = .ok
        fields[.contentRange] = nil
        fields[.contentLength] = "\(length)"
    }
}

/// A body that goes into the store while it is read.
final class StoringBody: BodySource {
    private let body: ResponseBody
    private let writer: EntryWriter

    init(_ body: ResponseBody, into writer: EntryWriter) {
        self.body = body
        self.writer = writer
    }

    var trailers: HTTPFields? { body.trailers }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            let chunk = try await body.next()
            if let chunk { writer.take(chunk) } else { writer.finish() }
            return chunk
        } catch {
            writer.abandon(.ended)
            throw error
        }
    }

    func discard() {
        body.discard()
        writer.abandon(.ended)
    }
}
