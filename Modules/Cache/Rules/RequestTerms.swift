internal import HTTPTypes
internal import SallyportCore

/// The parts of a request that matter to a cache.
struct RequestTerms: Sendable {
    let control: CacheControl
    /// The conditional fields that the app itself has set (RFC 9110 §13.1).
    let conditions: Set<HTTPField.Name>
    let hasRange: Bool

    static let conditionNames: Set<HTTPField.Name> = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    init(_ fields: HTTPFields) {
        var lines: [String] = []
        var conditions: Set<HTTPField.Name> = []
        var (hasRange, hasPragma) = (false, false)
        for field in fields {
            // All relevant names begin with one of these letters; most fields are skipped at once.
            switch field.name.canonicalName.utf8.first {
            case UInt8(ascii: "c"): if field.name == .cacheControl { lines.append(field.value) }
            case UInt8(ascii: "i"): if Self.conditionNames.contains(field.name) { conditions.insert(field.name) }
            case UInt8(ascii: "p"): if field.name == .pragma { hasPragma = hasPragma || Self.isNoCache(field.value) }
            case UInt8(ascii: "r"): if field.name == .range { hasRange = true }
            default: continue
            }
        }
        var control = lines.isEmpty ? CacheControl() : CacheControl(lines)
        if lines.isEmpty, hasPragma { control.noCache = true }
        (self.control, self.conditions, self.hasRange) = (control, conditions, hasRange)
    }

    /// Applies if there is no `Cache-Control` (RFC 9111 §5.4).
    private static func isNoCache(_ value: String) -> Bool {
        DirectiveList(value).contains { $0.name == "no-cache" }
    }
}
