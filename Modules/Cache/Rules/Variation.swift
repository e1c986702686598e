internal import HTTPTypes

/// `Vary`: which fields of a request an answer was chosen by (RFC 9111 §4.1).
struct Variation: Sendable, Hashable {
    /// More names than this are refused, as `*` is.
    static let limit = 32

    /// In lower case and order, without repetitions; nil where the answer matches no other request.
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

    /// As ``names(in:)``, and with `Authorization` where the request that was answered had it: what one user was told is
    /// told to nobody who does not show the same, whatever the server forgot to say.
    static func names(in fields: HTTPFields, answering request: HTTPFields) -> [String]? {
        guard let named = names(in: fields), request.contains(.authorization) else { return names(in: fields) }
        return Set(named).union([HTTPField.Name.authorization.canonicalName]).sorted()
    }

    /// What a request says in the fields: keyed, so that a stored code tells nothing of what was said. What may be made
    /// equal is (``FieldValue``); a field that is not there equals no other.
    static func code(of names: [String], in fields: HTTPFields, key: KeyHash) -> UInt64 {
        guard !names.isEmpty else { return 0 }
        var hash = key
        for name in names {
            hash.combine(name)
            hash.combine(octet: 0)
            guard let field = HTTPField.Name(name), fields.contains(field) else { continue }
            hash.combine(octet: 1)
            hash.combine(FieldValue.normalized(fields[values: field], of: field))
            hash.combine(octet: 0)
        }
        return hash.finalize()
    }
}

/// Makes values of a request's field equal that mean the same by the field's own definition, and no others (RFC 9111
/// §4.1).
enum FieldValue {
    /// Lines of one field count as one, with a comma between them (RFC 9110 §5.3); more is known of some fields only.
    static func normalized(_ lines: [String], of name: HTTPField.Name) -> String {
        guard let kind = kinds[name] else { return lines.map(\.trimmed).joined(separator: ", ") }
        let members = lines.flatMap { split($0, at: UInt8(ascii: ",")) }.compactMap { member($0, kind) }
        return (kind.isOrdered ? members : members.sorted()).joined(separator: ",")
    }

    /// What a list of preferences leaves open.
    private struct Kind {
        /// Whether servers may read anything out of the order: of languages they do (RFC 9110 §12.5.4).
        var isOrdered: Bool
        /// Whether members have parameters besides their weight, whose values may have case.
        var hasParameters = false
    }

    /// The fields of negotiation (RFC 9110 §12.5), whose names have no case and whose commas and semicolons may have
    /// white space around them.
    private static let kinds: [HTTPField.Name: Kind] = [
        .accept: Kind(isOrdered: true, hasParameters: true),
        .acceptEncoding: Kind(isOrdered: false),
        .acceptLanguage: Kind(isOrdered: true),
    ]

    /// Nil for an empty member, which means nothing (RFC 9110 §5.6.1).
    private static func member(_ text: Substring, _ kind: Kind) -> String? {
        let parts = split(String(text), at: UInt8(ascii: ";")).map { String($0).trimmed }
        guard let first = parts.first, parts != [""] else { return nil }
        let parameters = parts.dropFirst().compactMap { parameter($0, kind) }
        return ([first.lowercased()] + parameters).joined(separator: ";")
    }

    /// With a name in lower case. Nil for a weight of one, which goes without saying.
    private static func parameter(_ text: String, _ kind: Kind) -> String? {
        guard let equals = text.firstIndex(of: "=") else { return text.lowercased() }
        let (name, value) = (text[..<equals].lowercased(), String(text[text.index(after: equals)...]))
        guard name == "q" else { return "\(name)=\(kind.hasParameters ? value : value.lowercased())" }
        return weight(value).map { "q=\($0)" }
    }

    /// Without zeros behind (RFC 9110 §12.4.2); as it stands where it is none.
    private static func weight(_ text: String) -> String? {
        let digits = text.utf8.dropFirst(2)
        let isWeight =
            text.utf8.count <= 5 && (text == "0" || text == "1" || text.hasPrefix("0.") || text.hasPrefix("1."))
            && digits.allSatisfy { (48...57).contains($0) }
        guard isWeight, text.hasPrefix("0") || digits.allSatisfy({ $0 == 48 }) else { return text }
        guard text.hasPrefix("0") else { return nil }
        return "0." + String(decoding: digits.reversed().drop { $0 == 48 }.reversed(), as: UTF8.self)
    }

    /// At each separator outside quotes. A quote without an end hides nothing: what is behind it is one piece.
    private static func split(_ text: String, at separator: UInt8) -> [Substring] {
        var (pieces, start, index) = ([Substring](), text.startIndex, text.startIndex)
        var (isQuoted, isEscaped) = (false, false)
        while index < text.endIndex {
            let octet = text.utf8[index]
            switch octet {
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
