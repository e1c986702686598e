package import Crypto
internal import FoundationEssentials

/// A signed document in compact form (RFC 7515 §7.1), ES256 only (RFC 7518 §3.4).
///
/// Parsing checks the form; ``payload`` must not be trusted before ``verify(with:)`` has returned. In the header, `jku`
/// and `x5u` are ignored, and so is `jwk`, except in a proof of possession, where it is requested explicitly: no key is
/// taken from a document. `crit` is refused, and so is a header with a name that occurs twice.
package struct JWS: Sendable, Hashable {
    /// The largest accepted sizes.
    package struct Limits: Sendable {
        /// The whole text, in bytes.
        package var document = 1 << 20
        /// The header, decoded, in bytes.
        package var header = 32 << 10
        package var certificates = 4

        package init() {}
    }

    /// The signed header.
    package struct Header: Sendable, Hashable {
        /// `typ`: distinguishes kinds of documents, so that one is never taken for another (RFC 8725 §3.11).
        package var type: String
        /// `kid`.
        package var keyID: String?
        /// `x5c`, DER, the signer's certificate first.
        package var certificates: [[UInt8]]
        /// `jwk`: the key whose possession the document proves (RFC 9449 §4.2). It is not authenticated.
        package var key: JWK?

        package init(type: String, keyID: String? = nil, certificates: [[UInt8]] = [], key: JWK? = nil) {
            self.type = type
            self.keyID = keyID
            self.certificates = certificates
            self.key = key
        }
    }

    package let header: Header
    package let payload: [UInt8]
    private let signingInput: [UInt8]
    private let signature: [UInt8]
}

extension JWS {
    /// Parses a document.
    ///
    /// - Parameters:
    ///   - type: the only `typ` that is accepted.
    ///   - carriesKey: whether the header must have a `jwk`.
    /// - Throws: ``WireError``: `unsupported` for another algorithm, type or a critical header.
    package init(
        _ text: [UInt8], type: String, carriesKey: Bool = false, limits: Limits = Limits()
    ) throws(WireError) {
        guard text.count <= limits.document else {
            throw WireError(.tooLarge, "The signed document is longer than \(limits.document) bytes.")
        }
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw WireError(.malformed, "A compact JWS has three parts.") }
        let fields = try Base64URL.decode(parts[0])
        guard fields.count <= limits.header else {
            throw WireError(.tooLarge, "A header has at most \(limits.header) bytes.")
        }
        header = try Header(JOSEObject(parsing: fields), type: type, carriesKey: carriesKey, limits: limits)
        payload = try Base64URL.decode(parts[1])
        signature = try Base64URL.decode(parts[2])
        guard signature.count == 64 else { throw WireError(.malformed, "An ES256 signature has 64 bytes.") }
        signingInput = Array(text[..<parts[1].endIndex])
    }

    /// Throws unless the document was signed with the private key that belongs to `key`.
    package func verify(with key: P256.Signing.PublicKey) throws(WireError) {
        // Explicitly, since a generic hash function looks up types at each call.
        var hash = SHA256()
        signingInput.withUnsafeBytes { hash.update(bufferPointer: $0) }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: hash.finalize())
        else { throw WireError(.signature, "The signature does not verify.") }
    }

    /// Signs a payload.
    package static func sign(
        _ payload: [UInt8], header: Header, with key: P256.Signing.PrivateKey
    ) throws(WireError) -> String {
        let fields = try WireJSON.encode(HeaderFields(header))
        let input = "\(Base64URL.encode(fields)).\(Base64URL.encode(payload))"
        do {
            let signature = try key.signature(for: Array(input.utf8))
            return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
        } catch {
            throw WireError(.signature, "The key did not sign.", underlying: error)
        }
    }
}

/// The serialized header.
private struct HeaderFields: Encodable {
    var alg: String
    var typ: String
    var kid: String?
    var x5c: [String]?
    var jwk: JWK.Fields?

    init(_ header: JWS.Header) {
        alg = "ES256"
        typ = header.type
        kid = header.keyID
        x5c = header.certificates.isEmpty ? nil : header.certificates.map(Base64.encode)
        jwk = header.key?.fields
    }
}

extension JWS.Header {
    fileprivate init(
        _ fields: JOSEObject, type: String, carriesKey: Bool, limits: JWS.Limits
    ) throws(WireError) {
        let alg = try fields.string("alg")
        guard alg == "ES256" else { throw WireError(.unsupported, "ES256 is the only algorithm.") }
        // Only whether it exists: extensions that must be understood are refused (RFC 7515 §4.1.11).
        let crit = fields["crit"]
        guard crit == nil else { throw WireError(.unsupported, "No critical header is understood.") }
        let typ = try fields.optionalString("typ")
        guard typ == type else { throw WireError(.unsupported, "The document is not of type \(type).") }
        self.type = type
        keyID = try fields.optionalString("kid", upTo: 256)
        certificates = try Self.certificates(fields["x5c"], limit: limits.certificates)
        guard carriesKey else { return }
        guard case .object(let object)? = fields["jwk"] else {
            throw WireError(.malformed, "The header has no key.")
        }
        key = try JWK(object)
    }

    private static func certificates(_ value: JOSEObject.Value?, limit: Int) throws(WireError) -> [[UInt8]] {
        guard let value, value != .null else { return [] }
        guard case .array(let texts) = value else { throw WireError(.malformed, "x5c is an array.") }
        guard texts.count <= limit else { throw WireError(.tooLarge, "x5c holds at most \(limit) certificates.") }
        var certificates: [[UInt8]] = []
        for text in texts {
            guard case .string(let text) = text else { throw WireError(.malformed, "x5c holds texts.") }
            certificates.append(try Base64.decode(text.utf8))
        }
        return certificates
    }
}
