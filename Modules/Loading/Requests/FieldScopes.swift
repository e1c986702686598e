public import HTTPTypes
public import SallyportCore

/// To which servers redirects carry the header fields of a request: both the fields that the app has set in it and the
/// `additionalHeaders` of its session.
///
/// ```swift
/// try configuration.fieldScopes.set(.site, for: .init("X-Api-Key")!)
/// ```
///
/// Three kinds of fields, each with its rule:
/// - **Credentials** stay with their origin, whatever is set: `Authorization`, `Cookie`, `Proxy-Authorization`,
///   `X-Good-GD-AuthToken` and `DPoP`.
/// - **Standard fields** say what is requested or how the body is to be read. They go with every redirect unless a
///   scope is set for them: ``standardFields``.
/// - **All others** have the scope that is set for them, else ``others``, which by default is their origin.
///
/// A field that one redirect did not carry does not return with a later redirect of the same load.
public struct FieldScopes: Sendable, Hashable {
    /// The scope of fields that are not standard ones and have no scope of their own.
    public var others: FieldScope
    private var named: [HTTPField.Name: FieldScope] = [:]

    /// - Parameter others: the scope of fields that are not standard ones and have no scope of their own; by default
    ///   their origin.
    public init(others: FieldScope = .origin) { self.others = others }

    /// Sets the scope of a field; replaces the one that it had.
    ///
    /// - Throws: `invalidRequest` for a credential field, whose scope is always its origin.
    public mutating func set(_ scope: FieldScope, for name: HTTPField.Name) throws(LoadError) {
        guard !Self.credentialFields.contains(name) else {
            throw LoadError(.invalidRequest, "No redirect carries \(name.rawName) to another origin.")
        }
        named[name] = scope
    }

    /// Whether a redirect carries the field.
    ///
    /// - Parameter sites: the list of public suffixes, if the session has one.
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
    /// Fields that prove the app's or the user's identity to one origin; auth tokens and their proofs are among them.
    private static let credentialFields: Set<HTTPField.Name> = names([
        "Authorization", "Cookie", "Proxy-Authorization", "X-Good-GD-AuthToken", "DPoP",
    ])

    /// The fields that every server may see: what is requested (RFC 9110 §12.5, §13.1, §14.2; RFC 9111 §5.2), how it is
    /// sent, what the body is (§8), and the program that sends it. `Referer`, `Origin`, `From` and fields that pass on
    /// the client's identity are not among them: they tell one server about another server, or about people.
    public static let standardFields: Set<HTTPField.Name> = bodyFields.union(
        names([
            "Accept", "Accept-Encoding", "Accept-Language", "User-Agent",
            "Cache-Control", "Pragma", "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since",
            "If-Unmodified-Since", "Max-Forwards", "Priority", "TE", "Connection",
        ]))

    /// The standard fields that say what a request's body is and how it comes. A request that loses its body loses them
    /// too (RFC 9110 §15.4, Fetch §4.4).
    package static let bodyFields: Set<HTTPField.Name> = names([
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location",
        "Content-Disposition", "Content-Digest", "Repr-Digest", "Expect", "Trailer", "Transfer-Encoding",
    ])

    private static func names(_ texts: [String]) -> Set<HTTPField.Name> { Set(texts.compactMap { HTTPField.Name($0) }) }
}
