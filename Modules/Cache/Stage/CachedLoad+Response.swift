internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading
internal import SallyportSecureStore

/// The part of a stored answer that a request needs.
enum StoredPart: Sendable {
    /// The answer as it is stored.
    case whole
    /// Only the head.
    case head
    case range(ContentRange)
}

extension CachedLoad {
    /// Nil if the entry does not contain what the request asks for.
    func part(of answer: CachedAnswer) -> StoredPart? {
        guard isGet else { return answer.parts == nil ? .head : nil }
        guard terms.hasRange else { return answer.parts == nil ? .whole : nil }
        guard !terms.conditions.contains(.ifRange) || isMeant(answer) else { return answer.parts == nil ? .whole : nil }
        guard answer.status.code == 200 || answer.parts != nil, let asked = ByteRange(request.headerFields) else {
            return nil
        }
        guard let range = asked.resolved(total: answer.total), answer.offset(of: range) != nil else { return nil }
        return .range(range)
    }

    /// Whether `If-Range` refers to the stored answer (RFC 9110 §13.1.5): by a strong tag, or by an equal date.
    func isMeant(_ answer: CachedAnswer) -> Bool {
        guard let value = request.headerFields[.ifRange]?.trimmed else { return false }
        if value.hasPrefix("\"") || value.hasPrefix("W/") { return value == answer.validators.strongTag }
        guard let modified = answer.validators.modified, value == modified,
            let time = HTTPDate.parse(modified, now: answer.received)
        else { return false }
        // A date is strong if it is sufficiently older than the answer (RFC 9110 §8.8.2.2).
        return Freshness.date(of: answer.fields, received: answer.received).seconds(since: time) >= 60
    }

    /// Nil if the body cannot be read.
    func response(
        from stored: consuming StoredAnswer, _ part: StoredPart, at now: CacheTime, _ facts: LoadFacts
    ) -> LoadResponse? {
        guard let body = body(of: stored, part) else { return nil }
        // Moved out, so that they get the age without being copied.
        var fields = HTTPFields()
        swap(&fields, &stored.answer.fields)
        fields[.age] = String(stored.answer.age.seconds(at: now) ?? 0)
        var head = HTTPResponse(status: stored.answer.status, headerFields: fields)
        if case .range(let range) = part {
            head.status = .partialContent
            head.headerFields[.contentRange] = range.text
            head.headerFields[.contentLength] = String(range.count)
        }
        return LoadResponse(head: head, url: request.url, body: body, facts: facts)
    }

    private func body(of stored: StoredAnswer, _ part: StoredPart) -> ResponseBody? {
        switch part {
        case .head: ResponseBody()
        case .whole: body(of: stored, from: 0, count: stored.answer.length, base: 0)
        case .range(let range): body(of: stored, at: range)
        }
    }

    /// A range of a stored body; nil if any of it is missing or cannot be read.
    func body(of stored: StoredAnswer, at range: ContentRange) -> ResponseBody? {
        stored.answer.offset(of: range).flatMap {
            body(of: stored, from: $0, count: range.count, base: range.first - $0)
        }
    }

    /// A short body is in memory; of a long one, each piece is read from the store when it is needed.
    ///
    /// - Parameter base: the offset in the complete content of the stored body's first byte.
    private func body(of stored: StoredAnswer, from start: Int64, count: Int64, base: Int64) -> ResponseBody? {
        guard stored.answer.isStreamed else {
            guard start >= 0, start + count <= Int64(stored.body.count) else { return nil }
            if count == Int64(stored.body.count) { return ResponseBody(stored.body) }
            return ResponseBody(Array(stored.body[Int(start)..<Int(start + count)]))
        }
        guard let chunks = cache.storage?.body(stored.slot.id), Int64(chunks.count) == stored.answer.length else {
            return nil
        }
        let load = self
        return ResponseBody(
            StoredBody(chunks, skipping: start, count: count) { given throws(LoadError) in
                try await load.rest(of: stored, from: base + start + given)
            })
    }

    /// The rest of a body whose record was removed or damaged while it was read: loaded from the server, if that still
    /// has the same answer. Bytes of two answers are joined only by a strong validator (RFC 9111 §3.4).
    private func rest(of stored: StoredAnswer, from position: Int64) async throws(LoadError) -> ResponseBody {
        cache.drop(stored.slot)
        let failure = LoadError(.connectionLost, at: .response, "A stored body was lost while it was read.")
        let (validators, total) = (stored.answer.validators, stored.answer.total)
        guard !staysInside, position > 0 ? validators.strongTag != nil : !validators.isEmpty else { throw failure }
        var whole = request
        whole.headerFields[.range] = nil
        whole.headerFields[.ifRange] = nil
        let response = try await next.load(whole, in: context)
        await tellAbove(response.fieldsSentNow)
        let fields = response.head.headerFields
        guard response.head.status.code == 200, Validators(fields) == validators,
            fields[.contentLength].map({ Int64($0) == total }) ?? true
        else {
            response.body.discard()
            throw failure
        }
        return ResponseBody(SkippingBody(response.body, skipping: position))
    }
}
