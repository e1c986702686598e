internal import HTTPTypes

/// `Vary`: the request fields by which the server chose an answer (RFC 9111 §4.1).
struct Variation: Sendable, Hashable {
    /// More names than this are treated as `*`.
    static let limit = 32

    /// In lower case, sorted, without repetitions; nil if the answer matches no other request.
    static func names(in fields: HTTPFields) -> [String]? {
        guard fields.contains(.vary) else { return [] }
        var names: Set<String> = []
        for item in fields[values: .vary].flatMap({ $0.split(separator: ",") }) {
            let text = String(item).trimmed
            if text.isEmpty { continue }
            guard text != "*", let name = HTTPField.Name(text), names.count < limit else { return nil }
            names.insert(name.canonicalName)
        }
        return names.sorted()
    }

    /// As ``names(in:)``, plus `Authorization` if the original request had it: an answer for one user is never given to
    /// another, even if the server omitted the name.
    static func names(in fields: HTTPFields, answering request: HTTPFields) -> [String]? {
        guard let named = names(in: fields), request.contains(.authorization) else { return names(in: fields) }
        return Set(named).union([HTTPField.Name.authorization.canonicalName]).sorted()
    }

    /// A code for the values of these fields in a request: keyed, so that a stored code does not reveal them.
    /// Equivalent values are normalized first (``FieldValue``); a missing field differs from every value.
    static func code(of names: [String], in fields: HTTPFields, key: KeyHash) -> UInt64 {
        guard !names.isEmpty else { return 0 }
        var hash = key
        for name in names {
            hash.combine(name)
            hash.combine(byte: 0)
            guard let field = HTTPField.Name(name), fields.contains(field) else { continue }
            hash.combine(byte: 1)
            hash.combine(FieldValue.normalized(fields[values: field], of: field))
            hash.combine(byte: 0)
        }
        return hash.finalize()
    }
}

/// Normalizes the values of a request's field that are equivalent by the field's definition, and no others (RFC 9111
/// §4.1).
enum FieldValue {
    /// Joins a field's lines with commas (RFC 9110 §5.3). The fields in ``kinds`` are normalized further.
    static func normalized(_ lines: [String], of name: HTTPField.Name) -> String {
        guard let kind = kinds[name] else { return lines.map(\.trimmed).joined(separator: ", ") }
        let members = lines.flatMap { split($0, at: UInt8(ascii: ",")) }.compactMap { member($0, kind) }
        return (kind.isOrdered ? members : members.sorted()).joined(separator: ",")
    }

    /// What is known about a field that lists preferences.
    private struct Kind {
        /// Whether the order of members matters. Servers may give it a meaning for languages (RFC 9110 §12.5.4).
        var isOrdered: Bool
        /// Whether members have parameters other than their weight, whose values may be case-sensitive.
        var hasParameters = false
    }

    /// The fields of content negotiation (RFC 9110 §12.5). Their names are case-insensitive, and white space may
    /// surround their commas and semicolons.
    private static let kinds: [HTTPField.Name: Kind] = [
        .accept: Kind(isOrdered: true, hasParameters: true),
        .acceptEncoding: Kind(isOrdered: false),
        .acceptLanguage: Kind(isOrdered: true),
    ]

    /// One normalized member; nil for an empty one, which has no meaning (RFC 9110 §5.6.1).
    private static func member(_ text: Substring, _ kind: Kind) -> String? {
        let parts = split(String(text), at: UInt8(ascii: ";")).map { String($0).trimmed }
        guard let first = parts.first, parts != [""] else { return nil }
        let parameters = parts.dropFirst().compactMap { parameter($0, kind) }
        return ([first.lowercased()] + parameters).joined(separator: ";")
    }

    /// One parameter with its name in lower case; nil for a weight of one, which is the default.
    private static func parameter(_ text: String, _ kind: Kind) -> String? {
        guard let equals = text.firstIndex(of: "=") else { return text.lowercased() }
        let (name, value) = (text[..<equals].lowercased(), String(text[text.index(after: equals)...]))
        guard name == "q" else { return "\(name)=\(kind.hasParameters ? value : value.lowercased())" }
        return weight(value).map { "q=\($0)" }
    }

    /// The weight without trailing zeros (RFC 9110 §12.4.2); text that is not a weight stays as it is.
    private static func weight(_ text: String) -> String? {
        let digits = text.utf8.dropFirst(2)
        let isWeight =
            text.utf8.count <= 5 && (text == "0" || text == "1" || text.hasPrefix("0.") || text.hasPrefix("1."))
            && digits.allSatisfy { (48...57).contains($0) }
        guard isWeight, text.hasPrefix("0") || digits.allSatisfy({ $0 == 48 }) else { return text }
        guard text.hasPrefix("0") else { return nil }
        return "0." + String(decoding: digits.reversed().drop { $0 == 48 }.reversed(), as: UTF8.self)
    }

    /// Splits the text at each separator outside quotes. After a quote that is never closed, the rest is one piece.
    private static func split(_ text: String, at separator: UInt8) -> [Substring] {
        var (pieces, start, index) = ([Substring](), text.startIndex, text.startIndex)
        var (isQuoted, isEscaped) = (false, false)
        while index < text.endIndex {
            let byte = text.utf8[index]
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case separator where !isQuoted:
                pieces.append(text[start..<index])
                start = text.utf8.index(after: index)
            default: break
            }
            index = text.utf8.index(after: index)
        }
        return pieces + [text[start...]]
    }
}
