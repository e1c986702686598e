package import Crypto

/// The claims of an auth token (RFC 7519).
package struct AuthTokenClaims: Sendable, Hashable {
    /// `typ`.
    package static let type = "sallyport-token+jwt"
    /// The longest accepted token, in bytes.
    package static let maximumLength = 8 << 10
    /// 5 minutes.
    package static let lifetime: Int64 = 300

    /// `iss`: `https://NAME:PORT` of the gateway.
    package var issuer: String
    /// `sub`.
    package var user: String
    /// `aud`; empty if the app named no server, and then the claim is absent.
    package var server: String
    /// `nonce`; may be empty.
    package var challenge: String
    /// `iat`. Unix seconds, as the others.
    package var issuedAt: Int64
    /// `nbf`, which our gateway does not use.
    package var notBefore: Int64?
    /// `exp`.
    package var expires: Int64
    /// `jti`.
    package var identifier: String
    /// `client_id`.
    package var entitlement: EntitlementIdentifier
    /// `sid`.
    package var instance: InstanceIdentifier
    /// `cnf.jkt` (RFC 9449 §6.1): the thumbprint of the key for proofs; nil for a bearer token.
    package var keyThumbprint: String?

    package init(
        issuer: String, user: String, server: String, challenge: String, issuedAt: Int64, expires: Int64,
        identifier: String, entitlement: EntitlementIdentifier, instance: InstanceIdentifier,
        keyThumbprint: String? = nil
    ) {
        self.issuer = issuer
        self.user = user
        self.server = server
        self.challenge = challenge
        self.issuedAt = issuedAt
        self.expires = expires
        self.identifier = identifier
        self.entitlement = entitlement
        self.instance = instance
        self.keyThumbprint = keyThumbprint
    }

    /// When the token becomes valid.
    package var begins: Int64 { max(issuedAt, notBefore ?? issuedAt) }

    /// Whether it consists of ASCII letters and digits, at most 256.
    package static func isChallenge(_ text: String) -> Bool {
        text.utf8.count <= 256
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            }
    }

    /// Visible ASCII, at most 255 bytes; may be empty.
    package static func isServerName(_ text: String) -> Bool {
        text.utf8.count <= 255 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// SHA-256 in base64url (RFC 7638).
    package static func isThumbprint(_ text: String) -> Bool {
        guard text.utf8.count == 43, let bytes = try? Base64URL.decode(text.utf8) else { return false }
        return bytes.count == SHA256.byteCount
    }
}

// MARK: Encoding

extension AuthTokenClaims {
    private struct Fields: Encodable {
        struct Confirmation: Encodable { var jkt: String }
        var iss: String
        var sub: String
        var aud: String?
        var nonce: String
        var iat: Int64
        var nbf: Int64?
        var exp: Int64
        var jti: String
        var clientID: String
        var sid: String
        var cnf: Confirmation?

        enum CodingKeys: String, CodingKey {
            case iss, sub, aud, nonce, iat, nbf, exp, jti, sid, cnf
            case clientID = "client_id"
        }
    }

    package func serialized() throws(WireError) -> [UInt8] {
        try WireJSON.encode(
            Fields(
                iss: issuer, sub: user, aud: server.isEmpty ? nil : server, nonce: challenge, iat: issuedAt,
                nbf: notBefore, exp: expires, jti: identifier, clientID: entitlement.description,
                sid: instance.description, cnf: keyThumbprint.map(Fields.Confirmation.init)))
    }

    /// - Throws: ``WireError`` for a claim that is missing, repeated, malformed or too long. Other claims are ignored
    ///   (RFC 7519 §4).
    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.maximumLength else { throw WireError(.tooLarge, "The claims are too long.") }
        let claims = try JOSEObject(parsing: bytes)
        guard let entitlement = EntitlementIdentifier(try claims.string("client_id")),
            let instance = InstanceIdentifier(try claims.string("sid"))
        else { throw WireError(.malformed, "client_id or sid does not name an app or an instance.") }
        self.init(
            issuer: try claims.string("iss"), user: try claims.string("sub"),
            server: try claims.optionalString("aud") ?? "", challenge: try claims.string("nonce"),
            issuedAt: try claims.time("iat"), expires: try claims.time("exp"),
            identifier: try claims.string("jti", upTo: 256), entitlement: entitlement, instance: instance,
            keyThumbprint: try Self.keyThumbprint(claims["cnf"]))
        notBefore = try claims.optionalTime("nbf")
        guard BasicCredentials.isUser(user), Self.isChallenge(challenge), Self.isServerName(server),
            claims["aud"] == nil || !server.isEmpty, issuedAt < expires, !identifier.isEmpty
        else { throw WireError(.malformed, "A claim is outside of its range.") }
    }

    /// A confirmation other than a key's thumbprint is not supported, and must not be ignored.
    private static func keyThumbprint(_ value: JOSEObject.Value?) throws(WireError) -> String? {
        guard let value else { return nil }
        guard case .object(let confirmation) = value, confirmation.names == ["jkt"],
            case let thumbprint = try confirmation.string("jkt"), isThumbprint(thumbprint)
        else { throw WireError(.unsupported, "A confirmation is the thumbprint of a key.") }
        return thumbprint
    }
}

/// A signed auth token whose signature was not verified yet.
package struct SignedAuthToken: Sendable {
    /// `kid`: the published key that it names.
    package let keyID: String
    private let document: JWS

    /// Parses a token without verifying it.
    ///
    /// - Throws: ``WireError``: `tooLarge` over 8 KiB; `unsupported` for another algorithm, type or a critical header;
    ///   `malformed`, also without a `kid`.
    package init(_ text: [UInt8]) throws(WireError) {
        var limits = JWS.Limits()
        (limits.document, limits.header) = (AuthTokenClaims.maximumLength, 2048)
        document = try JWS(text, type: AuthTokenClaims.type, limits: limits)
        guard let keyID = document.header.keyID, !keyID.isEmpty else {
            throw WireError(.malformed, "A token names the key that signed it.")
        }
        self.keyID = keyID
    }

    /// The claims, after verifying that the key signed them.
    package func claims(signedWith key: P256.Signing.PublicKey) throws(WireError) -> AuthTokenClaims {
        try document.verify(with: key)
        return try AuthTokenClaims(parsing: document.payload)
    }

    /// The claims of a token that another party has verified, such as the gateway's service.
    package func claimsVouchedFor() throws(WireError) -> AuthTokenClaims {
        try AuthTokenClaims(parsing: document.payload)
    }

    package static func sign(
        _ claims: AuthTokenClaims, with key: P256.Signing.PrivateKey, keyID: String
    ) throws(WireError) -> String {
        try JWS.sign(
            claims.serialized(), header: JWS.Header(type: AuthTokenClaims.type, keyID: keyID), with: key)
    }
}
