package import Crypto
package import SallyportCore

/// A proof that the sender of a token has the key to which the token is bound (RFC 9449 §4).
package struct DPoPProof: Sendable, Hashable {
    /// `typ`.
    package static let type = "dpop+jwt"
    /// The longest accepted proof, in bytes.
    package static let maximumLength = 8 << 10

    /// `jti`, 1 to 256 bytes.
    package let identifier: String
    /// `htm`.
    package let method: String
    /// `htu`, without query and fragment.
    package let target: String
    /// `iat`. Unix seconds.
    package let issuedAt: Int64
    /// `ath`: the hash of the token that is sent with the proof.
    package let tokenHash: String?
    /// The thumbprint of the key in the header, which signed the proof.
    package let keyThumbprint: String

    /// Reads a proof, and verifies that the key in its header signed it. The caller compares that key with the token's,
    /// and the other values with the request.
    ///
    /// - Throws: ``WireError``.
    package init(_ text: [UInt8]) throws(WireError) {
        var limits = JWS.Limits()
        (limits.document, limits.header) = (Self.maximumLength, 4096)
        let document = try JWS(text, type: Self.type, carriesKey: true, limits: limits)
        guard let key = document.header.key else { throw WireError(.malformed, "The header has no key.") }
        try document.verify(with: key.publicKey())
        let claims = try JOSEObject(parsing: document.payload)
        identifier = try claims.string("jti", upTo: 256)
        method = try claims.string("htm", upTo: 64)
        target = try claims.string("htu", upTo: 4096)
        issuedAt = try claims.time("iat")
        tokenHash = try claims.optionalString("ath", upTo: 64)
        keyThumbprint = key.thumbprint
        guard !identifier.isEmpty else { throw WireError(.malformed, "A proof has an identifier.") }
    }

    private struct Fields: Encodable {
        var jti: String
        var htm: String
        var htu: String
        var iat: Int64
        var ath: String
    }

    /// Makes a proof for one request.
    ///
    /// - Parameters:
    ///   - identifier: unique for each proof.
    ///   - token: the token in the request.
    package static func make(
        for method: String, at url: RequestURL, with token: String, identifier: String, issuedAt: Int64,
        signedWith key: P256.Signing.PrivateKey
    ) throws(WireError) -> String {
        let fields = Fields(
            jti: identifier, htm: method, htu: target(of: url), iat: issuedAt, ath: hash(of: token))
        return try JWS.sign(
            WireJSON.encode(fields), header: JWS.Header(type: type, key: JWK(key.publicKey)), with: key)
    }

    /// SHA-256 of the token's bytes, base64url (RFC 9449 §4.2).
    package static func hash(of token: String) -> String {
        Base64URL.encode(SHA256.hash(data: Array(token.utf8)).map { $0 })
    }

    /// The value of `htu` for a URL: the URL without query and fragment, with its host in canonical form.
    package static func target(of url: RequestURL) -> String { "\(url.scheme)://\(url.hostField)\(url.path)" }

    /// Whether the proof is for a URL, with any spelling of its host (RFC 9449 §4.3).
    package func isFor(_ url: RequestURL) -> Bool {
        guard let own = try? RequestURL(target), own.query == nil, own.fragment == nil else { return false }
        return own.scheme == url.scheme && own.endpoint == url.endpoint && own.authority == url.authority
            && own.path == url.path
    }
}
