internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// What is stored of an answer and its request, without the body.
struct CachedAnswer: Sendable, Equatable {
    /// The kind of route by which the response came. It is used only for requests that go by the same kind.
    enum Way: UInt8, Sendable {
        case direct = 0
        case relay = 1

        /// Nil for `deny`.
        init?(_ route: Route) {
            switch route {
            case .direct: self = .direct
            case .relay: self = .relay
            case .deny: return nil
            }
        }
    }

    var principal: String
    /// Without the fragment.
    var url: String
    var way: Way
    /// The trust scope under which the response came. It is used only for loads under the same scope.
    var trust: TrustScope
    var requested: CacheTime
    var received: CacheTime
    var status: HTTPResponse.Status
    /// The stored fields, including `Age` as it was received.
    var fields: HTTPFields
    /// Which ranges of the complete content the body has, one after another; nil for the complete content.
    var parts: StoredParts?
    /// The length of the stored body in bytes.
    var length: Int64
    /// Whether the body is stored in a separate record.
    var isStreamed: Bool

    /// ``Age`` in seconds when the answer was received; computed once.
    var initialAge: Int64 = 0
    /// ``Freshness`` in seconds; computed once.
    var lifetime: Int64 = 0
    /// Parsed once.
    var reuse = ReuseTerms()

    /// Computes from the fields what each use needs to know of them.
    mutating func measure() {
        let control = control
        initialAge = Age(of: fields, requested: requested, received: received).initial
        lifetime = Freshness(of: head, control, received: received).lifetime
        reuse = control.reuse
    }

    var head: HTTPResponse { HTTPResponse(status: status, headerFields: fields) }
    var control: CacheControl { CacheControl(fields) }
    var validators: Validators { Validators(fields) }
    var age: Age { Age(initial: initialAge, received: received) }

    /// The length of the complete content in bytes.
    var total: Int64 { parts?.total ?? length }

    /// The offset in the stored body at which a range of the complete content begins; nil if any of the range is
    /// missing.
    func offset(of range: ContentRange) -> Int64? { parts == nil ? range.first : parts?.offset(of: range) }
}

extension CachedAnswer {
    /// Removes the fields that describe a single transfer. Once all parts are stored, this makes the response the one
    /// that the server would have sent without a range (RFC 9110 §15.3.7.3).
    mutating func settle() {
        fields[.contentRange] = nil
        let isWhole = parts?.isWhole != false
        fields[.contentLength] = isWhole ? "\(length)" : nil
        guard isWhole else { return }
        parts = nil
        status = .ok
    }
}

// MARK: Bytes

extension CachedAnswer {
    private static let version: UInt8 = 4
    /// Stands for a number of seconds that the server did not give.
    private static let absent: Int64 = -1
    private enum Flag {
        static let relay: UInt8 = 1
        static let streamed: UInt8 = 2
        static let partial: UInt8 = 4
        static let asksApp: UInt8 = 8
        static let noCache: UInt8 = 16
        static let mustRevalidate: UInt8 = 32
        static let immutable: UInt8 = 64
        static let all: UInt8 = 127
    }

    /// The stored form: a body that is short enough to be stored with the head, then the head, then the head's length.
    /// The head comes last, so that reading removes it without copying the body.
    func bytes(body: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(isStreamed ? [] : body)
        let start = writer.bytes.count
        writer.number(UInt64(Self.version), 1)
        writer.number(UInt64(flags), 1)
        for number in [
            requested.milliseconds, received.milliseconds, initialAge, lifetime, length,
            reuse.staleWhileRevalidate ?? Self.absent, reuse.staleIfError ?? Self.absent,
        ] { writer.signed(number) }
        if let parts { Self.write(parts, &writer) }
        writer.part(trust.digest, 1)
        writer.number(UInt64(status.code), 2)
        writer.text(status.reasonPhrase, 2)
        writer.text(principal, 2)
        writer.text(url, 4)
        writer.number(UInt64(fields.count), 2)
        for field in fields { Self.write(field, &writer) }
        writer.number(UInt64(writer.bytes.count - start), 4)
        return writer.bytes
    }

    private var flags: UInt8 {
        (way == .relay ? Flag.relay : 0) | (isStreamed ? Flag.streamed : 0) | (parts == nil ? 0 : Flag.partial)
            | (trust.asksApp ? Flag.asksApp : 0) | (reuse.noCache ? Flag.noCache : 0)
            | (reuse.mustRevalidate ? Flag.mustRevalidate : 0) | (reuse.isImmutable ? Flag.immutable : 0)
    }

    /// - Returns: the answer and the body that is stored with it; nil if the bytes are invalid.
    static func decode(_ bytes: [UInt8]) -> (answer: CachedAnswer, body: [UInt8])? {
        var bytes = bytes
        return cut(from: &bytes).map { ($0, bytes) }
    }

    /// Reads the head and leaves the body that is stored with it; nil if the bytes are invalid.
    static func cut(from bytes: inout [UInt8]) -> CachedAnswer? {
        guard let length = headLength(bytes),
            let answer = answer(bytes, (bytes.count - 4 - length)..<(bytes.count - 4)),
            Int64(bytes.count - 4 - length) == (answer.isStreamed ? 0 : answer.length)
        else { return nil }
        bytes.removeLast(length + 4)
        return answer
    }

    private static func headLength(_ bytes: [UInt8]) -> Int? {
        var reader = ByteReader(bytes, max(0, bytes.count - 4)..<bytes.count)
        guard let length = reader.number(4).flatMap(Int.init(exactly:)), length <= bytes.count - 4 else { return nil }
        return length
    }

    private static func answer(_ bytes: [UInt8], _ place: Range<Int>) -> CachedAnswer? {
        var reader = ByteReader(bytes, place)
        guard reader.byte() == version, let flags = reader.byte(), flags & ~Flag.all == 0,
            let requested = reader.signed(), let received = reader.signed(), let age = reader.signed(), age >= 0,
            let lifetime = reader.signed(), lifetime >= 0, let length = reader.signed(), length >= 0,
            let reuse = reuse(flags, &reader)
        else { return nil }
        var parts: StoredParts?
        if flags & Flag.partial != 0 {
            parts = Self.parts(&reader)
            guard let parts, parts.count == length else { return nil }
        }
        guard let digest = reader.part(1), let code = reader.number(2).map(Int.init), (200...599).contains(code),
            let reason = reader.text(2), let principal = reader.text(2), let url = reader.text(4),
            let fields = Self.fields(&reader), reader.remaining == 0
        else { return nil }
        return CachedAnswer(
            principal: principal, url: url, way: flags & Flag.relay != 0 ? .relay : .direct,
            trust: TrustScope(digest: Array(digest), asksApp: flags & Flag.asksApp != 0),
            requested: CacheTime(milliseconds: requested), received: CacheTime(milliseconds: received),
            status: HTTPResponse.Status(code: code, reasonPhrase: reason), fields: fields, parts: parts,
            length: length, isStreamed: flags & Flag.streamed != 0, initialAge: age, lifetime: lifetime, reuse: reuse)
    }

    private static func reuse(_ flags: UInt8, _ reader: inout ByteReader) -> ReuseTerms? {
        guard let whileRevalidate = reader.signed(), whileRevalidate >= absent,
            let ifError = reader.signed(), ifError >= absent
        else { return nil }
        return ReuseTerms(
            noCache: flags & Flag.noCache != 0, mustRevalidate: flags & Flag.mustRevalidate != 0,
            isImmutable: flags & Flag.immutable != 0,
            staleWhileRevalidate: whileRevalidate == absent ? nil : whileRevalidate,
            staleIfError: ifError == absent ? nil : ifError)
    }

    private static func write(_ parts: StoredParts, _ writer: inout ByteWriter) {
        writer.signed(parts.total)
        writer.number(UInt64(parts.ranges.count), 1)
        for range in parts.ranges {
            writer.signed(range.first)
            writer.signed(range.last)
        }
    }

    private static func parts(_ reader: inout ByteReader) -> StoredParts? {
        guard let total = reader.signed(), let count = reader.byte(), count <= StoredParts.limit else { return nil }
        var ranges: [ContentRange] = []
        for _ in 0..<count {
            guard let first = reader.signed(), let last = reader.signed(),
                let range = ContentRange(first: first, last: last, total: total)
            else { return nil }
            ranges.append(range)
        }
        return StoredParts(total: total, ranges)
    }

    private static func fields(_ reader: inout ByteReader) -> HTTPFields? {
        guard let count = reader.number(2), count <= 4096 else { return nil }
        var fields = HTTPFields()
        // One more is added to each answer: its age.
        fields.reserveCapacity(Int(count) + 1)
        for _ in 0..<count {
            guard let name = name(&reader), let value = reader.text(4) else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    private static func name(_ reader: inout ByteReader) -> HTTPField.Name? {
        guard let code = reader.byte() else { return nil }
        guard code == StoredName.spelled else { return StoredName.name(of: code) }
        return reader.text(2).flatMap { HTTPField.Name($0) }
    }

    private static func write(_ field: HTTPField, _ writer: inout ByteWriter) {
        let code = StoredName.code(of: field.name)
        writer.number(UInt64(code ?? StoredName.spelled), 1)
        if code == nil { writer.text(field.name.rawName, 2) }
        writer.text(field.value, 4)
    }
}
