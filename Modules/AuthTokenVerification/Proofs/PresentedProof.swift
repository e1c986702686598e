/// A proof of a token's key as it came with a request (RFC 9449 §4).
public struct PresentedProof: Sendable {
    /// The value of the request's `DPoP` field; nil where it has none. Fields that stand twice are joined by a comma,
    /// as HTTP has it, and are no proof then.
    public var text: String?
    /// The request's method, in its case.
    public var method: String
    /// The URL that the app requested, as the app knows it: behind a proxy it is not the one that arrives.
    public var url: String

    /// - Parameters:
    ///   - text: the value of the `DPoP` field; nil if the request has none.
    ///   - method: the request's method.
    ///   - url: the URL that the app requested.
    public init(_ text: String?, method: String, url: String) {
        self.text = text
        self.method = method
        self.url = url
    }
}

/// Remembers proofs, so that each counts once. Share one among all servers that take the same tokens.
public protocol ProofMemory: Sendable {
    /// Remembers a proof until `expiry`; false where it is known already. Of two calls at once for one proof, one gets
    /// true.
    ///
    /// - Parameters:
    ///   - proof: a name of 43 characters that no other proof has.
    ///   - expiry: Unix seconds.
    func remember(_ proof: String, until expiry: Int64) async throws -> Bool
}
