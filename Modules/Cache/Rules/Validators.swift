internal import HTTPTypes

/// What tells one answer from another of the same resource (RFC 9110 §8.8).
struct Validators: Sendable, Hashable {
    /// As it stands in the field, `W/` with it; nil where it is malformed.
    var tag: String?
    var modified: String?

    init(_ fields: HTTPFields) {
        tag = fields[values: .eTag].first.flatMap { Self.isTag($0) ? $0 : nil }
        modified = fields[values: .lastModified].first
    }

    var isEmpty: Bool { tag == nil && modified == nil }
    var strongTag: String? { tag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }

    private static func isTag(_ text: String) -> Bool {
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        return opaque.utf8.count >= 2 && opaque.hasPrefix("\"") && opaque.hasSuffix("\"")
            && !opaque.dropFirst().dropLast().utf8.contains(UInt8(ascii: "\""))
    }

    /// Without `W/` (RFC 9110 §8.8.3.2: weak comparison).
    static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Whether an answer with `other` speaks of what is stored with these (RFC 9111 §4.3.4). A strong validator must be
    /// the same; a weak one is compared weakly; one that says nothing means what was asked about.
    func areConfirmed(by other: Validators) -> Bool {
        if let strong = other.strongTag { return strong == strongTag }
        if let tag = other.tag { return self.tag.map(Self.opaque) == Self.opaque(tag) }
        if let modified = other.modified, let mine = self.modified { return modified == mine }
        return true
    }
}

/// Asks a server whether what is stored still holds (RFC 9111 §4.3.1).
enum Validation {
    /// The request with the conditions; nil where nothing stored can be asked about.
    static func fields(_ fields: HTTPFields, asking validators: Validators) -> HTTPFields? {
        guard !validators.isEmpty else { return nil }
        var fields = fields
        if let tag = validators.tag { fields[.ifNoneMatch] = tag }
        if let modified = validators.modified { fields[.ifModifiedSince] = modified }
        return fields
    }

    /// The stored fields with those of a 304 (§3.2, §4.3.4). What speaks of the stored bytes stays.
    static func merged(_ stored: HTTPFields, with fresh: HTTPFields, _ control: CacheControl) -> HTTPFields {
        var merged = stored
        // The stored Age and Date belong to the earlier response. The age is now computed from the fields of this one
        // or from the time at which it came.
        merged[.age] = nil
        merged[.date] = nil
        let new = StorageRules.stored(fresh, control)
        for name in Set(new.map(\.name)) where !ofContent.contains(name) { merged[fields: name] = new[fields: name] }
        for name in control.noCacheFields { merged[fields: name] = [] }
        return merged
    }

    private static let ofContent: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

    /// Whether the answer to a `HEAD` says that the stored one holds (§4.3.5): nothing that it says differs.
    static func isConfirmed(_ stored: HTTPFields, byHead fresh: HTTPFields) -> Bool {
        let names: [HTTPField.Name] = [.eTag, .lastModified, .contentLength]
        return names.allSatisfy { !fresh.contains($0) || fresh[$0] == stored[$0] }
    }
}
