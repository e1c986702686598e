internal import HTTPTypes

/// The range of bytes in a 206 answer (RFC 9110 §14.4).
struct ContentRange: Sendable, Hashable {
    var first: Int64
    /// Inclusive.
    var last: Int64
    /// The length of the whole, in bytes.
    var total: Int64

    var count: Int64 { last - first + 1 }
    var isWhole: Bool { first == 0 && last == total - 1 }
    var text: String { "bytes \(first)-\(last)/\(total)" }

    init?(first: Int64, last: Int64, total: Int64) {
        guard first >= 0, first <= last, last < total else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }

    /// Nil unless it is one range of bytes with a known total.
    init?(of fields: HTTPFields) {
        guard fields[values: .contentRange].count == 1, let text = fields[.contentRange]?.trimmed,
            text.lowercased().hasPrefix("bytes ")
        else { return nil }
        let parts = String(text.dropFirst(6)).trimmed.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = ByteRange.number(ends[0]), let last = ByteRange.number(ends[1]),
            let total = ByteRange.number(parts[1])
        else { return nil }
        self.init(first: first, last: last, total: total)
    }

    func contains(_ other: ContentRange) -> Bool {
        total == other.total && first <= other.first && other.last <= last
    }
}

/// The one range that a request asks for (RFC 9110 §14.2).
struct ByteRange: Sendable, Hashable {
    /// Nil for a suffix.
    var first: Int64?
    /// The last byte; for a suffix, its length; nil for everything up to the end.
    var last: Int64?

    /// Nil for several ranges, other units and malformed fields: such requests go to the server.
    init?(_ fields: HTTPFields) {
        guard fields[values: .range].count == 1, let text = fields[.range]?.trimmed,
            text.lowercased().hasPrefix("bytes=")
        else { return nil }
        let ends = String(text.dropFirst(6)).trimmed.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        first = Self.number(ends[0])
        last = Self.number(ends[1])
        guard first != nil || ends[0].isEmpty, last != nil || ends[1].isEmpty, first != nil || last != nil else {
            return nil
        }
        if let first, let last, last < first { return nil }
    }

    /// The requested bytes of a whole; nil if it has none of them.
    func resolved(total: Int64) -> ContentRange? {
        if let first {
            return ContentRange(first: first, last: min(last ?? .max, total - 1), total: total)
        }
        guard let last, last > 0 else { return nil }
        return ContentRange(first: max(0, total - last), last: total - 1, total: total)
    }

    static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }
}
