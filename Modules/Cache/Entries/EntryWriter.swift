internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import Synchronization

/// Writes a response into the store while the app reads its body: the bytes as they were sent, in pieces.
///
/// Never waits for the store: if the store cannot keep up, if the body is not read to its end or if it is too long, the
/// entry is given up. What was received of a response that breaks off is kept as a part (RFC 9111 §3.3).
final class EntryWriter: Sendable {
    /// What is stored, besides the body.
    struct Draft: Sendable {
        var answer: CachedAnswer
        var slot: IndexSlot
        /// ``Removals/count`` when the request was sent.
        var start: UInt64
        /// Whether a part may be kept of a body that breaks off: not if only the whole is known to be the server's.
        var keepsParts: Bool
    }

    /// The most bytes that may wait for the writer, for all entries together.
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
        // A part is collected in memory, since it may be joined with other parts.
        guard draft.answer.parts == nil, state.buffer.count >= DetachedStream.goodPart else { return .nothing }
        let count = state.buffer.count / DetachedStream.goodPart * DetachedStream.goodPart
        let part = Array(state.buffer.prefix(count))
        state.buffer.removeFirst(count)
        var stream = state.stream ?? DetachedStream()
        let change = stream.append(part)
        state.stream = stream
        return .part(part, change)
    }

    private func submit(_ part: [UInt8], _ change: @escaping EntryStorage.Change) {
        let (_, pending) = cache.pendingBytes.add(part.count, ordering: .relaxed)
        guard pending <= Self.pendingLimit else {
            cache.pendingBytes.subtract(part.count, ordering: .relaxed)
            return abandon(.notStorable)
        }
        storage.store.submit(change) { [self] result in
            cache.pendingBytes.subtract(part.count, ordering: .relaxed)
            if case .failure = result { abandon(.notStorable) }
        }
    }

    /// The entry is given up.
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

    /// The received part of a body.
    private struct Outcome {
        var buffer: [UInt8]
        var stream: DetachedStream?
        var length: Int64
    }

    /// Takes the outcome; nil if the entry was given up.
    private func takeOutcome() -> Outcome? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            defer { (state.isOver, state.buffer, state.stream) = (true, [], nil) }
            return Outcome(buffer: state.buffer, stream: state.stream, length: state.length)
        }
    }

    /// The body was read to its end.
    func finish() {
        guard let done = takeOutcome() else { return }
        guard isAsLongAsSaid(done.length) else { return giveUp(done) }
        var answer = draft.answer
        answer.length = done.length
        keep(answer, done)
    }

    /// The body broke off. The received part is stored if the server has sent a strong validator and the total length:
    /// it then answers range requests, and is completed when the whole response is requested.
    func breakOff(_ error: LoadError) {
        guard error.leavesBytesAsTheyWere, draft.keepsParts else { return abandon(.ended) }
        guard let done = takeOutcome() else { return }
        guard let range = rangeOfBroken(done.length) else { return giveUp(done) }
        var answer = draft.answer
        (answer.parts, answer.length) = (StoredParts(range), done.length)
        keep(answer, done)
    }

    private func giveUp(_ done: Outcome) {
        if let change = done.stream?.abandon() { storage.store.submit(change) }
        lead?.land(.ended)
    }

    /// The range of the complete content that the first `length` bytes of the body are.
    private func rangeOfBroken(_ length: Int64) -> ContentRange? {
        let answer = draft.answer
        guard length > 0, answer.validators.strongTag != nil else { return nil }
        if let range = answer.parts?.ranges.first {
            guard length <= range.count else { return nil }
            return ContentRange(first: range.first, last: range.first + length - 1, total: range.total)
        }
        guard answer.status.code == 200, let text = answer.fields[.contentLength],
            let total = ByteRange.number(text[...])
        else { return nil }
        return ContentRange(first: 0, last: length - 1, total: total)
    }

    /// A body that is shorter or longer than its declared length is not complete (RFC 9112 §8).
    private func isAsLongAsSaid(_ length: Int64) -> Bool {
        if let parts = draft.answer.parts { return length == parts.count }
        guard let text = draft.answer.fields[.contentLength] else { return true }
        return ByteRange.number(text[...]) == length
    }

    /// Stores a complete response, or a part joined with the stored parts of the same response.
    private func keep(_ answer: CachedAnswer, _ done: Outcome) {
        var (answer, body) = (answer, done.buffer)
        if answer.parts != nil {
            guard cache.join(&answer, &body, in: draft.slot, isStreamed: done.stream != nil, limit: limit) else {
                return giveUp(done)
            }
            answer.settle()
        }
        commit(answer, body, done.stream)
    }

    private func commit(_ answer: CachedAnswer, _ body: [UInt8], _ stream: DetachedStream?) {
        var (answer, stream) = (answer, stream)
        var changes: [EntryStorage.Change] = []
        let id = draft.slot.id
        if stream != nil || body.count > EntryStorage.inlineLimit {
            answer.isStreamed = true
            var whole = stream ?? DetachedStream()
            if !body.isEmpty { changes.append(whole.append(body)) }
            changes.append(whole.finish(id.bytes, in: storage.bodies))
            stream = whole
        }
        answer.measure()
        let record = answer.bytes(body: answer.isStreamed ? [] : body)
        var slot = draft.slot
        slot.size = Int64(record.count) + (answer.isStreamed ? answer.length : 0) + IndexSlot.overhead
        changes.append(storage.put(slot, record))
        cache.commit(changes, slot, startedAt: draft.start, bytes: body.count, lead: lead) { [storage, stream] in
            if let change = stream?.abandon() { storage.store.submit(change) }
        }
    }
}
