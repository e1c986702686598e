internal import SallyportBase

/// The parts of a request that its digest covers.
package struct DigestMessage: Sendable, Hashable {
    package let method: String
    /// The request target: path and query, or host and port for CONNECT.
    package let target: String
    /// The hash of the body for `auth-int`, in hexadecimal digits.
    package var bodyHash: [UInt8]?

    package init(method: String, target: String, bodyHash: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.bodyHash = bodyHash
    }
}

/// The proof of one request (RFC 7616 §3.4.1); its answer is checked with the same values.
package struct DigestProof: Sendable {
    let algorithm: DigestAlgorithm
    /// H(A1), in hexadecimal digits (§3.4.2).
    let key: [UInt8]
    package let nonce: String
    /// Eight hexadecimal digits.
    let count: [UInt8]
    let clientNonce: String
    let protection: DigestProtection?
    let message: DigestMessage

    /// In hexadecimal digits.
    var response: [UInt8] {
        let method = Array(message.method.utf8)
        return digest(method, bodyHash: message.bodyHash, protection: protection)
    }

    /// The expected `rspauth` of the server: the same without a method, and with the hash of its own body (§3.5).
    func serverResponse(protection: DigestProtection?, bodyHash: [UInt8]?) -> [UInt8] {
        digest([], bodyHash: bodyHash, protection: protection)
    }

    /// KD(H(A1), …:H(A2)) (§3.4.1, §3.4.3).
    private func digest(_ method: [UInt8], bodyHash: [UInt8]?, protection: DigestProtection?) -> [UInt8] {
        let (function, target, nonce) = (algorithm.function, Array(message.target.utf8), Array(nonce.utf8))
        guard let protection else { return function.hash(key, nonce, function.hash(method, target)) }
        let body = protection == .authInt ? bodyHash ?? function.hash([]) : nil
        let second = body.map { function.hash(method, target, $0) } ?? function.hash(method, target)
        return function.hash(
            key, nonce, count, Array(clientNonce.utf8), Array(protection.rawValue.utf8), second)
    }
}

extension DigestProof {
    /// The value of `Authorization` (§3.4).
    ///
    /// User and realm come first: the part before the nonce is the same for each request of a user.
    ///
    /// - Parameter hashed: the hashed user name; nil if the server accepts the plain name.
    func field(of user: String, hashed: [UInt8]?, answering challenge: DigestChallenge) -> String {
        var writer = FieldWriter()
        if let hashed {
            writer.write("username", quoted: String(decoding: hashed, as: UTF8.self))
        } else if challenge.isUTF8, !user.utf8.allSatisfy({ 32..<127 ~= $0 }) {
            writer.write("username*", extended: user)
        } else {
            writer.write("username", quoted: user)
        }
        writer.write("realm", quoted: challenge.realm)
        writer.write("nonce", quoted: nonce)
        writer.write("uri", quoted: message.target)
        writer.write("response", quoted: String(decoding: response, as: UTF8.self))
        if let name = challenge.algorithmName { writer.write("algorithm", token: name) }
        if let protection {
            writer.write("cnonce", quoted: clientNonce)
            writer.write("qop", token: protection.rawValue)
            writer.write("nc", token: String(decoding: count, as: UTF8.self))
        }
        if let opaque = challenge.opaque { writer.write("opaque", quoted: opaque) }
        if hashed != nil { writer.write("userhash", token: "true") }
        return writer.text
    }
}

/// Writes parameters after the scheme's name.
private struct FieldWriter {
    private var bytes = Array("Digest".utf8)

    init() { bytes.reserveCapacity(512) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    private mutating func begin(_ name: String) {
        bytes.append(contentsOf: (bytes.count == 6 ? " " : ", ").utf8)
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "="))
    }

    mutating func write(_ name: String, token: String) {
        begin(name)
        bytes.append(contentsOf: token.utf8)
    }

    /// RFC 9110 §5.6.4.
    mutating func write(_ name: String, quoted value: String) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        if value.utf8.contains(where: Self.isQuoted) {
            for byte in value.utf8 { bytes += Self.isQuoted(byte) ? [UInt8(ascii: "\\"), byte] : [byte] }
        } else {
            bytes.append(contentsOf: value.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isQuoted(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }

    /// RFC 8187 §3.2.
    mutating func write(_ name: String, extended value: String) {
        begin(name)
        bytes.append(contentsOf: "UTF-8''".utf8)
        for byte in value.utf8 {
            if Self.isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(contentsOf: Hexadecimal.digits(of: [byte]).map { $0 >= 97 ? $0 - 32 : $0 })
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
