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

    /// What a request says in the fields: keyed, so that a stored code tells nothing of what was said. Lines of one
    /// field count as one, and white space around commas as none; where case has no meaning, it has none here.
    static func code(of names: [String], in fields: HTTPFields, key: KeyHash) -> UInt64 {
        guard !names.isEmpty else { return 0 }
        var hash = key
        for name in names {
            hash.combine(name)
            hash.combine(octet: 0)
            guard let field = HTTPField.Name(name), fields.contains(field) else { continue }
            hash.combine(octet: 1)
            hash.combine(normalized(fields[values: field], field))
            hash.combine(octet: 0)
        }
        return hash.finalize()
    }

    private static let withoutCase: Set<HTTPField.Name> = [.acceptEncoding, .acceptLanguage, .accept]

    private static func normalized(_ lines: [String], _ name: HTTPField.Name) -> String {
        let items = lines.flatMap { $0.split(separator: ",") }.map { String($0).trimmed }
        let text = items.filter { !$0.isEmpty }.joined(separator: ",")
        return withoutCase.contains(name) ? text.lowercased() : text
    }
}
