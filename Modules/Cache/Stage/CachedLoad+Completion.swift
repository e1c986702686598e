internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// What a request needs of a response that is stored in parts.
struct Gap: Sendable {
    /// The complete content, or the range that the request names.
    let asked: ContentRange
    /// The shortest range that contains everything that is needed and not stored.
    let missing: ContentRange
}

extension CachedLoad {
    /// Nil if nothing of what is requested is stored: such a request is sent as it is.
    func gap(in stored: StoredAnswer) -> Gap? {
        let answer = stored.answer
        guard isGet, let parts = answer.parts, answer.validators.strongTag != nil, let asked = asked(of: answer),
            let missing = parts.missing(of: asked), missing != asked
        else { return nil }
        return Gap(asked: asked, missing: missing)
    }

    private func asked(of answer: CachedAnswer) -> ContentRange? {
        guard terms.hasRange else { return ContentRange(first: 0, last: answer.total - 1, total: answer.total) }
        guard !terms.conditions.contains(.ifRange) || isMeant(answer) else { return nil }
        return ByteRange(request.headerFields)?.resolved(total: answer.total)
    }

    /// Fetches the missing part, if the server still has the same response (RFC 9111 §3.3). The stored parts may then
    /// be used however old they are, since the server has confirmed them.
    func completed(
        _ stored: StoredAnswer, _ gap: Gap, joins: Bool, until latest: ContinuousClock.Instant
    ) async throws(LoadError) -> Use {
        switch try await lead(joins: joins, until: latest) {
        case .again(let joins): return .again(joins: joins)
        case .own(let lead): return .answered(try await complete(stored, gap, lead: lead))
        }
    }

    private func complete(_ stored: StoredAnswer, _ gap: Gap, lead: FlightLead?) async throws(LoadError) -> LoadResponse
    {
        guard let ends = ends(of: stored, gap) else {
            cache.drop(stored.slot)
            return try await anew(lead)
        }
        var sent = request
        sent.headerFields[.range] = "bytes=\(gap.missing.first)-\(gap.missing.last)"
        sent.headerFields[.ifRange] = stored.answer.validators.strongTag
        let (start, requested) = (cache.removalCount, cache.now())
        let response = try await next.load(sent, in: context)
        switch response.head.status.code {
        case 206 where fits(response.head, stored, gap) && response.cameLike(stored):
            note(.completed)
            cache.count(.completed)
            let rest = received(response, at: start, requested: requested, lead: lead)
            return combined(stored, gap, ends, rest, sent: response.head.headerFields).told(.completed)
        case 206, 304, 416:
            // A response other than the stored one, or none.
            await response.drain()
            let again = await tellAbove(response.fieldsSentNow)
            replaceIfOutdated(stored, by: response)
            return try await sendingAgain(again).anew(lead)
        default:
            replaceIfOutdated(stored, by: response)
            note(.changed)
            return received(response, at: start, requested: requested, lead: lead).told(.changed)
        }
    }

    private func anew(_ lead: FlightLead?) async throws(LoadError) -> LoadResponse {
        note(.changed)
        return try await forward(request, lead: lead).told(.changed)
    }

    /// Whether a part is the requested one, and of the same response as the stored parts (§3.4).
    private func fits(_ head: HTTPResponse, _ stored: StoredAnswer, _ gap: Gap) -> Bool {
        ContentRange(of: head.headerFields) == gap.missing
            && Validators(head.headerFields).strongTag == stored.answer.validators.strongTag
    }

    /// The stored bytes before and after the missing range; nil if they cannot be read.
    ///
    /// The bytes after it are read now: later, the entry may have been replaced by the completed one.
    private func ends(of stored: StoredAnswer, _ gap: Gap) -> (before: ResponseBody?, behind: [UInt8])? {
        let (asked, missing) = (gap.asked, gap.missing)
        var before: ResponseBody?
        if let range = ContentRange(first: asked.first, last: missing.first - 1, total: asked.total) {
            guard let body = body(of: stored, at: range) else { return nil }
            before = body
        }
        guard let range = ContentRange(first: missing.last + 1, last: asked.last, total: asked.total) else {
            return (before, [])
        }
        guard let offset = stored.answer.offset(of: range), let body = cache.body(of: stored),
            offset + range.count <= Int64(body.count)
        else { return nil }
        return (before, Array(body[Int(offset)..<Int(offset + range.count)]))
    }

    private func combined(
        _ stored: StoredAnswer, _ gap: Gap, _ ends: (before: ResponseBody?, behind: [UInt8]), _ rest: LoadResponse,
        sent: HTTPFields
    ) -> LoadResponse {
        var head = HTTPResponse(status: terms.hasRange ? .partialContent : .ok)
        head.headerFields = Validation.merged(stored.answer.fields, with: sent, CacheControl(sent))
        head.headerFields[.contentLength] = "\(gap.asked.count)"
        head.headerFields[.contentRange] = terms.hasRange ? gap.asked.text : nil
        var response = rest
        response.head = head
        response.facts.sentNow = sent
        let pieces = [ends.before, rest.body, ends.behind.isEmpty ? nil : ResponseBody(ends.behind)]
        response.body = ResponseBody(CombinedBody(pieces.compactMap(\.self), length: gap.asked.count))
        return response
    }
}

/// Several bodies, one after another, whose total length is known.
actor CombinedBody: BodySource {
    private nonisolated let pieces: [ResponseBody]
    private var position = 0
    private var left: Int64

    init(_ pieces: [ResponseBody], length: Int64) {
        self.pieces = pieces
        left = length
    }

    func next() async throws(LoadError) -> [UInt8]? {
        while position < pieces.count {
            if let bytes = try await pieces[position].next() {
                left -= Int64(bytes.count)
                return bytes
            }
            position += 1
        }
        guard left == 0 else {
            throw LoadError(.protocolViolation, at: .response, "The rest of an answer has a wrong length.")
        }
        return nil
    }

    nonisolated func discard() { for piece in pieces { piece.discard() } }

    nonisolated var trailers: HTTPFields? { nil }
}
