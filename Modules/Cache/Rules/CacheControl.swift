internal import HTTPTypes
internal import SallyportBase

/// The directives of `Cache-Control`, of a request or of an answer (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// Unknown directives are ignored (§5.2.3). If directives are repeated, contradictory or malformed, the strictest
/// reading counts: the smallest age, the larger demand; an invalid number is zero.
struct CacheControl: Sendable, Hashable {
    /// How stale an answer may be for a request (§5.2.1.2).
    enum Staleness: Sendable, Hashable {
        case any
        case seconds(Int64)
    }

    var maxAge: Int64?
    var noStore = false
    /// `no-cache` without field names.
    var noCache = false
    /// The fields that must not be reused without validation (§5.2.2.4).
    var noCacheFields: Set<HTTPField.Name> = []
    var mustRevalidate = false
    var mustUnderstand = false
    var isPublic = false
    var isPrivate = false
    var isImmutable = false
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?
    var maxStale: Staleness?
    var minFresh: Int64?
    var onlyIfCached = false

    init() {}

    /// - Parameter lines: the values of all lines of the field.
    init(_ lines: [String]) {
        for line in lines {
            for directive in DirectiveList(line) { take(directive) }
        }
    }

    /// Larger numbers of seconds are reduced to this (§1.2.2).
    static let longest: Int64 = 1 << 31

    private mutating func take(_ directive: DirectiveList.Directive) {
        switch directive.name {
        case "max-age": maxAge = smallest(maxAge, directive)
        case "no-store": noStore = true
        case "no-cache": takeNoCache(directive.value)
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "immutable": isImmutable = true
        case "stale-while-revalidate": staleWhileRevalidate = smallest(staleWhileRevalidate, directive)
        case "stale-if-error": staleIfError = smallest(staleIfError, directive)
        case "max-stale": takeMaxStale(directive)
        case "min-fresh": minFresh = max(minFresh ?? 0, Self.seconds(directive.value) ?? Self.longest)
        case "only-if-cached": onlyIfCached = true
        default: break
        }
    }

    private mutating func takeNoCache(_ value: String?) {
        guard let value else { return noCache = true }
        let names = value.split(separator: ",").map { HTTPField.Name(String($0).trimmed) }
        // An unreadable list counts for all fields.
        guard !names.isEmpty, !names.contains(nil) else { return noCache = true }
        noCacheFields.formUnion(names.compactMap(\.self))
    }

    private mutating func takeMaxStale(_ directive: DirectiveList.Directive) {
        let new: Staleness = directive.value == nil ? .any : .seconds(Self.seconds(directive.value) ?? 0)
        switch (maxStale, new) {
        case (nil, _), (.any, _): maxStale = new
        case (.seconds(let old), .seconds(let new)): maxStale = .seconds(min(old, new))
        case (.seconds, .any): break
        }
    }

    private func smallest(_ old: Int64?, _ directive: DirectiveList.Directive) -> Int64 {
        min(old ?? .max, Self.seconds(directive.value) ?? 0)
    }

    /// Delta-seconds (§1.2.2); nil if it is not a number. Overflow gives ``longest``.
    static func seconds(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text).map { min($0, longest) } ?? longest
    }
}

extension CacheControl {
    /// The directives of an answer, or of a request that has the field.
    init(_ fields: HTTPFields) { self.init(fields[values: .cacheControl]) }
}

extension String {
    /// Without optional white space at both ends.
    var trimmed: String { String(self[...].trimmingSpaces) }
}

extension Substring {
    var trimmingSpaces: Substring {
        trimming { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
