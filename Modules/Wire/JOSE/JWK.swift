package import Crypto

/// A P-256 public key as a JSON Web Key (RFC 7517, RFC 7518 §6.2), the only kind that is supported.
package struct JWK: Sendable, Hashable {
    /// `kid`, of at most 256 bytes.
    package var keyID: String?
    /// X and Y, 32 bytes each; a point of the curve.
    private let coordinates: [UInt8]

    package init(_ key: P256.Signing.PublicKey, keyID: String? = nil) {
        coordinates = Array(key.rawRepresentation)
        self.keyID = keyID
    }

    /// - Throws: ``WireError``: `unsupported` for a key of another kind; `malformed` for a point that is not on the
    ///   curve, and for a private key, which must never be sent.
    package init(_ object: JOSEObject) throws(WireError) {
        guard try object.string("kty") == "EC", try object.string("crv") == "P-256" else {
            throw WireError(.unsupported, "P-256 is the only kind of key.")
        }
        guard object["d"] == nil else { throw WireError(.malformed, "The key is a private one.") }
        let x = try Base64URL.decode(object.string("x"))
        let y = try Base64URL.decode(object.string("y"))
        guard x.count == 32, y.count == 32, (try? P256.Signing.PublicKey(rawRepresentation: x + y)) != nil else {
            throw WireError(.malformed, "X and Y are no point of P-256.")
        }
        coordinates = x + y
        keyID = try object.optionalString("kid", upTo: 256)
    }

    package func publicKey() throws(WireError) -> P256.Signing.PublicKey {
        do { return try P256.Signing.PublicKey(rawRepresentation: coordinates) } catch {
            throw WireError(.malformed, "X and Y are no point of P-256.", underlying: error)
        }
    }

    private var x: String { Base64URL.encode(coordinates[..<32]) }
    private var y: String { Base64URL.encode(coordinates[32...]) }

    /// SHA-256 of the key's members in their order, base64url (RFC 7638): identifies the key, independent of its
    /// spelling.
    package var thumbprint: String {
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Base64URL.encode(SHA256.hash(data: Array(members.utf8)).map { $0 })
    }

    /// The members in a header or a key set.
    var fields: Fields { Fields(crv: "P-256", kty: "EC", x: x, y: y, kid: keyID) }

    struct Fields: Encodable {
        var crv: String
        var kty: String
        var x: String
        var y: String
        var kid: String?
        var use: String?
        var alg: String?
    }
}

/// Published keys, found by their `kid` (RFC 7517 §5).
package struct JWKSet: Sendable, Hashable {
    package enum Limits {
        /// The whole document, in bytes.
        package static let document = 64 << 10
        package static let keys = 256
    }

    package let keys: [JWK]

    package init(_ keys: [JWK]) { self.keys = keys }

    /// Skips keys of another kind, use or algorithm, and those without a `kid` (RFC 7517 §5).
    ///
    /// - Throws: ``WireError``: `malformed`, also if a `kid` names two keys; `tooLarge`.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Limits.document else {
            throw WireError(.tooLarge, "A set of keys has at most \(Limits.document) bytes.")
        }
        guard case .array(let values)? = try JOSEObject(parsing: bytes)["keys"] else {
            throw WireError(.malformed, "A set of keys has an array of them.")
        }
        guard values.count <= Limits.keys else {
            throw WireError(.tooLarge, "A set has at most \(Limits.keys) keys.")
        }
        var keys: [JWK] = []
        for value in values {
            guard case .object(let object) = value else { throw WireError(.malformed, "A key is an object.") }
            guard Self.signs(object) else { continue }
            let key = try JWK(object)
            guard keys.allSatisfy({ $0.keyID != key.keyID }) else {
                throw WireError(.malformed, "A kid names two keys.")
            }
            keys.append(key)
        }
        self.keys = keys
    }

    private static func signs(_ key: JOSEObject) -> Bool {
        key["kty"] == .string("EC") && key["crv"] == .string("P-256") && key["kid"] != nil
            && [nil, .string("sig")].contains(key["use"]) && [nil, .string("ES256")].contains(key["alg"])
    }

    package func serialized() throws(WireError) -> [UInt8] {
        struct Document: Encodable { var keys: [JWK.Fields] }
        let fields = keys.map { key in
            var fields = key.fields
            (fields.use, fields.alg) = ("sig", "ES256")
            return fields
        }
        return try WireJSON.encode(Document(keys: fields))
    }
}
