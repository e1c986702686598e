/// A parsed `Set-Cookie` field (RFC 6265bis §5.6). ``CookieRules`` decides whether it becomes a cookie.
struct SetCookie: Sendable, Hashable {
    /// The greatest length of name and value together, in bytes.
    static let maximumLength = 4096
    /// The greatest length of an attribute's value, in bytes; a longer attribute is ignored.
    static let maximumAttributeLength = 1024

    var name: [UInt8]
    var value: [UInt8]
    /// If an attribute occurs several times, the last valid one counts.
    var expires: Int64?
    var maxAge: Int64?
    /// In lower case, without a leading dot.
    var domain: [UInt8]?
    var path: Path?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite = SameSite.default

    /// The `Path` attribute.
    enum Path: Sendable, Hashable {
        /// It is empty or does not begin with a slash: the request's default path is used.
        case ofRequest
        case given([UInt8])
    }

    /// - Throws: why the field is ignored.
    init(_ field: [UInt8]) throws(CookieRefusal) {
        guard !field.contains(where: ASCII.isControl) else { throw .controlCharacter }
        let end = field.firstIndex(of: UInt8(ascii: ";")) ?? field.endIndex
        let pair = field[..<end]
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        name = Array(ASCII.trimmed(equals.map { pair[..<$0] } ?? []))
        value = Array(ASCII.trimmed(equals.map { pair[($0 + 1)...] } ?? pair))
        guard name.count + value.count <= Self.maximumLength else { throw .tooLong }
        guard end < field.endIndex else { return }
        for attribute in field[(end + 1)...].split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: true) {
            take(attribute)
        }
    }

    private mutating func take(_ attribute: ArraySlice<UInt8>) {
        let equals = attribute.firstIndex(of: UInt8(ascii: "="))
        let name = ASCII.trimmed(equals.map { attribute[..<$0] } ?? attribute)
        let value = ASCII.trimmed(equals.map { attribute[($0 + 1)...] } ?? [])
        guard value.count <= Self.maximumAttributeLength else { return }
        if ASCII.isEqual(name, ignoringCase: "expires") {
            expires = CookieDate.parse(value) ?? expires
        } else if ASCII.isEqual(name, ignoringCase: "max-age") {
            maxAge = Self.seconds(value) ?? maxAge
        } else if ASCII.isEqual(name, ignoringCase: "domain") {
            domain = value.dropFirst(value.first == UInt8(ascii: ".") ? 1 : 0).map(ASCII.lowercased)
        } else if ASCII.isEqual(name, ignoringCase: "path") {
            path = value.first == UInt8(ascii: "/") ? .given(Array(value)) : .ofRequest
        } else if ASCII.isEqual(name, ignoringCase: "secure") {
            isSecure = true
        } else if ASCII.isEqual(name, ignoringCase: "httponly") {
            isHTTPOnly = true
        } else if ASCII.isEqual(name, ignoringCase: "samesite") {
            sameSite = SameSite(attribute: value)
        }
    }

    /// §5.6.2: digits with an optional minus sign; a number that is too long is treated as the cap.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        if isNegative { return 0 }
        return digits.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 48), 1 << 40) }
    }
}

/// Whether a cookie is sent with requests that come from another site (RFC 6265bis §5.6.7).
public enum SameSite: String, Sendable, Hashable, Codable, CaseIterable {
    /// The server did not say: treated as ``lax``.
    case `default`
    /// Never.
    case strict
    /// Never in this SDK, whose requests are not top-level navigations from another site.
    case lax
    /// Always; such a cookie is ``Cookie/isSecure``.
    case none

    init(attribute: ArraySlice<UInt8>) {
        self = .default
        if ASCII.isEqual(attribute, ignoringCase: "none") { self = .none }
        if ASCII.isEqual(attribute, ignoringCase: "strict") { self = .strict }
        if ASCII.isEqual(attribute, ignoringCase: "lax") { self = .lax }
    }
}
