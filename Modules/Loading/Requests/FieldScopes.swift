public import HTTPTypes
public import SallyportCore

/// Where redirects carry the header fields of a request: those that the app has set in it, and the `additionalHeaders` of
/// its session alike.
///
/// ```swift
/// try configuration.fieldScopes.set(.site, for: .init("X-Api-Key")!)
/// ```
///
/// Three kinds of fields, each with its rule:
/// - **Credentials** stay with their origin whatever is set: `Authorization`, `Cookie`, `Proxy-Authorization`,
///   `X-Good-GD-AuthToken` and `DPoP`.
/// - **Standard fields** say what is asked for or how the body is to be read, and go with every redirect unless a scope is
///   set for them: ``standardFields``.
/// - **All others** have the scope that is set for them, else ``others``: by default their origin.
///
/// What a redirect did not carry does not come back with a later one of the same load.
public struct FieldScopes: Sendable, Hashable {
    /// The scope of fields that are not standard ones and have none of their own.
    public var others: FieldScope
    private var named: [HTTPField.Name: FieldScope] = [:]

    public init(others: FieldScope = .origin) { self.others = others }

    /// Sets the scope of a field, in place of the one that it had.
    ///
    /// - Throws: `invalidRequest` for a field of credentials, whose scope is always its origin.
    public mutating func set(_ scope: FieldScope, for name: HTTPField.Name) throws(LoadError) {
        guard !Self.credentialFields.contains(name) else {
            throw LoadError(.invalidRequest, "No redirect carries \(name.rawName) to another origin.")
        }
        named[name] = scope
    }

    /// Whether a redirect carries the field.
    ///
    /// - Parameter sites: the list of public suffixes, where there is one.
    package func carries(
        _ name: HTTPField.Name, from source: RequestURL, to target: RequestURL, by sites: (any SiteRules)?
    ) -> Bool {
        if source.origin == target.origin { return true }
        if Self.credentialFields.contains(name) { return false }
        if let scope = named[name] { return scope.reaches(target, from: source, by: sites) }
        return Self.standardFields.contains(name) || others.reaches(target, from: source, by: sites)
    }
}

extension FieldScopes {
    /// Prove to one origin who asks; auth tokens and their proofs do so too.
    private static let credentialFields: Set<HTTPField.Name> = names([
        "Authorization", "Cookie", "Proxy-Authorization", "X-Good-GD-AuthToken", "DPoP",
    ])

    /// The fields that every server may see: what is asked for (RFC 9110 §12.5, §13.1, §14.2; RFC 9111 §5.2), how it is
    /// sent, what the body is (§8), and which program asks. `Referer`, `Origin`, `From` and what passes on who asks are
    /// not among them: they tell one server of another, or of people.
    public static let standardFields: Set<HTTPField.Name> = names([
        "Accept", "Accept-Encoding", "Accept-Language", "User-Agent",
        "Cache-Control", "Pragma", "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since",
        "If-Unmodified-Since", "Max-Forwards", "Priority",
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location",
        "Content-Disposition", "Content-Digest", "Repr-Digest",
        "Expect", "TE", "Trailer", "Transfer-Encoding", "Connection",
    ])

    private static func names(_ texts: [String]) -> Set<HTTPField.Name> { Set(texts.compactMap { HTTPField.Name($0) }) }
}
