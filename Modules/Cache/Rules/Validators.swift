internal import HTTPTypes

/// The validators of an answer (RFC 9110 §8.8).
struct Validators: Sendable, Hashable {
    /// The tag as the field contains it, including `W/`; nil if it is malformed.
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

    /// Whether an answer with `other` refers to the stored answer with these validators (RFC 9111 §4.3.4). A strong
    /// validator must be identical; a weak one is compared weakly; without validators, the answer refers to what was
    /// asked about.
    func areConfirmed(by other: Validators) -> Bool {
        if let strong = other.strongTag { return strong == strongTag }
        if let tag = other.tag { return self.tag.map(Self.opaque) == Self.opaque(tag) }
        if let modified = other.modified, let mine = self.modified { return modified == mine }
        return true
    }
}

/// Asks a server whether a stored answer is still valid (RFC 9111 §4.3.1).
enum Validation {
    /// The request with conditions; nil if the stored answer has no validator.
    static func fields(_ fields: HTTPFields, asking validators: Validators) -> HTTPFields? {
        guard !validators.isEmpty else { return nil }
        var fields = fields
        if let tag = validators.tag { fields[.ifNoneMatch] = tag }
        if let modified = validators.modified { fields[.ifModifiedSince] = modified }
        return fields
    }

    /// The stored fields updated by those of a 304 (§3.2, §4.3.4). Fields that describe the stored bytes stay.
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

    /// Whether the answer to a `HEAD` confirms the stored one (§4.3.5): its status is the same, or 304, and none of
    /// its fields differs.
    static func isConfirmed(_ stored: CachedAnswer, byHead head: HTTPResponse) -> Bool {
        let (status, fresh) = (head.status.code, head.headerFields)
        guard status == 304 || status == stored.status.code else { return false }
        let names: [HTTPField.Name] = [.eTag, .lastModified, .contentLength]
        return names.allSatisfy { !fresh.contains($0) || fresh[$0] == stored.fields[$0] }
    }
}
