internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// What is known of an incomplete download: enough to request the rest, and to check that it belongs to the same
/// content (RFC 9110 §13.1.5, §14).
struct Resumption: Codable, Equatable {
    /// Identifies the request: the URL without its query, which may be secret, and a number that distinguishes queries.
    private var url: String
    private var query: UInt64
    /// A strong entity tag, or a time of modification that is as good as one.
    var validator: String
    /// The number of bytes on the disk.
    var length: Int64 = 0
    /// The length of the whole, if the server has sent it.
    var total: Int64?

    /// Nil if the answer cannot be resumed.
    init?(of request: LoadRequest, answered head: HTTPResponse) {
        let fields = head.headerFields
        guard head.status == .ok, fields[.contentEncoding] == nil, fields[.acceptRanges] != "none",
            let validator = Self.strongValidator(of: fields)
        else { return nil }
        url = request.url.redacted
        query = TextNumber.of(request.url.target)
        self.validator = validator
        total = fields[.contentLength].flatMap { Int64($0) }
    }

    func isOf(_ request: LoadRequest) -> Bool {
        url == request.url.redacted && query == TextNumber.of(request.url.target)
    }

    /// Requests the missing part, or the whole if it has changed.
    func ask(_ request: LoadRequest) -> LoadRequest {
        var request = request
        request.headerFields[.range] = "bytes=\(length)-"
        request.headerFields[.ifRange] = validator
        return request
    }

    /// How many small parts one download takes. A server that sends more of them is asked for the whole.
    static let maximumSmallParts = 100
    /// The length in bytes below which a part is small.
    static let smallPart: Int64 = 64 << 10

    /// The kinds of answers to ``ask(_:)``.
    enum Answer: Equatable {
        /// The bytes from ``length`` on, up to a length of the file that may be less than that of the whole: a server
        /// may send less than was asked for (RFC 9110 §15.3.7). Only if this is ``total`` nothing is missing.
        case part(upTo: Int64)
        /// There is nothing more: the bytes on the disk are complete.
        case nothing
        /// The whole, from its first byte.
        case whole
        /// Another part than requested, or of other content: the whole must be requested.
        case useless
        /// Any other answer, which the app must judge.
        case other
    }

    mutating func take(_ head: HTTPResponse) -> Answer {
        let range = head.headerFields[.contentRange].flatMap(ContentRange.init)
        switch head.status.code {
        case 206:
            guard let range, range.first == length, let last = range.last, last < total ?? .max,
                range.total == nil || total == nil || range.total == total,
                range.hasLength(of: head.headerFields), isSame(head.headerFields),
                head.headerFields[.contentEncoding] == nil
            else { return .useless }
            total = range.total ?? total
            return .part(upTo: last + 1)
        case 416:
            let isWhole = range?.total == length && length == total ?? length && isSame(head.headerFields)
            return isWhole ? .nothing : .useless
        case 200: return .whole
        default: return .other
        }
    }

    /// An answer to If-Range belongs to the content of the validator; an answer with other validators is not believed.
    private func isSame(_ fields: HTTPFields) -> Bool {
        guard validator.hasPrefix("\""), let tag = fields[.eTag] else { return true }
        return tag == validator
    }

    /// RFC 9110 §8.8.2.2 and §8.8.3: a tag that is not weak, else a modification at least a minute before the answer.
    private static func strongValidator(of fields: HTTPFields) -> String? {
        if let tag = fields[.eTag] { return tag.hasPrefix("\"") ? tag : nil }
        guard let modified = fields[.lastModified], let time = FixedDate.seconds(modified),
            let now = fields[.date].flatMap(FixedDate.seconds), now - time >= 60
        else { return nil }
        return modified
    }
}

/// `bytes FIRST-LAST/TOTAL`, `bytes FIRST-LAST/*` or `bytes */TOTAL` (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// Nil if the range could not be satisfied.
    var first: Int64?
    var last: Int64?
    var total: Int64?

    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let total = Self.number(parts[1]) else { return nil }
        self.total = total
        if parts[0] == "*" {
            guard total != nil else { return nil }
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), 0 <= first, first <= last,
            total ?? .max > last
        else { return nil }
        (self.first, self.last) = (first, last)
    }

    /// Whether the length that an answer announces, if it does, is the range's. Each `last` is below the greatest
    /// number, so that neither this length nor the end of the range overflows.
    func hasLength(of fields: HTTPFields) -> Bool {
        guard let announced = fields[.contentLength].flatMap({ Int64($0) }), let first, let last else { return true }
        return announced == last - first + 1
    }

    /// Nil if it is not a number; `.some(nil)` for `*`.
    private static func number(_ text: Substring) -> Int64?? {
        if text == "*" { return .some(nil) }
        guard let number = Int64(text), number >= 0 else { return nil }
        return .some(number)
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that is generated (RFC 9110 §5.6.7).
enum FixedDate {
    /// Since 1970; nil for another form.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].count == 4, words[5] == "GMT", let day = Int64(words[1]),
            let month = CivilDate.months.firstIndex(of: String(words[2])), let year = Int64(words[3])
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard time.count == 3, (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(time[0]),
            (0...59).contains(time[1]), (0...60).contains(time[2])
        else { return nil }
        return CivilDate.daysSince1970(Int(year), month + 1, Int(day)) * 86_400 + time[0] * 3600 + time[1] * 60
            + time[2]
    }
}
