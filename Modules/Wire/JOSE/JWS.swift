package import Crypto
internal import FoundationEssentials

/// A signed document in compact form (RFC 7515 §7.1), ES256 only (RFC 7518 §3.4).
///
/// Parsing checks the form; nothing of ``payload`` may be believed before ``verify(with:)`` returned. Of the header,
/// `jku`, `jwk` and `x5u` are ignored: no key comes from a document. `crit` is refused.
package struct JWS: Sendable, Hashable {
    /// Sizes beyond which a document is not looked at.
    package struct Limits: Sendable {
        /// The whole text, in octets.
        package var document = 1 << 20
        /// The header, decoded, in octets.
        package var header = 32 << 10
        package var certificates = 4

        package init() {}
    }

    /// What is signed about the payload.
    package struct Header: Sendable, Hashable {
        /// `typ`: separates kinds of documents, so that one is never taken for another (RFC 8725 §3.11).
        package var type: String
        /// `kid`.
        package var keyID: String?
        /// `x5c`, DER, the signer's certificate first.
        package var certificates: [[UInt8]]

        package init(type: String, keyID: String? = nil, certificates: [[UInt8]] = []) {
            self.type = type
            self.keyID = keyID
            self.certificates = certificates
        }
    }

    package let header: Header
    package let payload: [UInt8]
    private let signingInput: [UInt8]
    private let signature: [UInt8]
}

extension JWS {
    /// Takes a document apart.
    ///
    /// - Parameter type: the only `typ` that is accepted.
    /// - Throws: ``WireError``: `unsupported` for another algorithm, type or a critical header.
    package init(_ text: [UInt8], type: String, limits: Limits = Limits()) throws(WireError) {
        guard text.count <= limits.document else {
            throw WireError(.tooLarge, "The signed document is longer than \(limits.document) octets.")
        }
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw WireError(.malformed, "A compact JWS has three parts.") }
        let fields = try WireJSON.decode(
            HeaderFields.self, from: Base64URL.decode(parts[0]), limit: limits.header)
        header = try fields.checked(type: type, limits: limits)
        payload = try Base64URL.decode(parts[1])
        signature = try Base64URL.decode(parts[2])
        guard signature.count == 64 else { throw WireError(.malformed, "An ES256 signature has 64 octets.") }
        signingInput = Array(text[..<parts[1].endIndex])
    }

    /// Throws unless the document was signed with the private half of `key`.
    package func verify(with key: P256.Signing.PublicKey) throws(WireError) {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: signingInput)
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

/// The header as it stands in JSON.
private struct HeaderFields: Codable {
    var alg: String
    var typ: String?
    var kid: String?
    var x5c: [String]?
    /// Only whether it is there: extensions that must be understood are refused (RFC 7515 §4.1.11).
    var crit: JSONValue?

    init(_ header: JWS.Header) {
        alg = "ES256"
        typ = header.type
        kid = header.keyID
        x5c = header.certificates.isEmpty ? nil : header.certificates.map(Base64.encode)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        alg = try container.decode(String.self, forKey: .alg)
        typ = try container.decodeIfPresent(String.self, forKey: .typ)
        kid = try container.decodeIfPresent(String.self, forKey: .kid)
        x5c = try container.decodeIfPresent([String].self, forKey: .x5c)
        crit = container.contains(.crit) ? .null : nil
    }

    func checked(type: String, limits: JWS.Limits) throws(WireError) -> JWS.Header {
        guard alg == "ES256" else { throw WireError(.unsupported, "ES256 is the only algorithm.") }
        guard crit == nil else { throw WireError(.unsupported, "No critical header is understood.") }
        guard typ == type else { throw WireError(.unsupported, "The document is not of type \(type).") }
        guard kid?.utf8.count ?? 0 <= 256 else { throw WireError(.tooLarge, "A kid has at most 256 octets.") }
        let texts = x5c ?? []
        guard texts.count <= limits.certificates else {
            throw WireError(.tooLarge, "x5c holds at most \(limits.certificates) certificates.")
        }
        var certificates: [[UInt8]] = []
        for text in texts { certificates.append(try Base64.decode(text.utf8)) }
        return JWS.Header(type: type, keyID: kid, certificates: certificates)
    }
}
