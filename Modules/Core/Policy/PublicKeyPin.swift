internal import FoundationEssentials

/// The digest of a pinned key: SHA-256 of the SubjectPublicKeyInfo of the server's certificate, or of an authority's in
/// its chain (RFC 7469 §2.4).
///
///     openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let sha256: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// Reads `sha256/BASE64`, or only the base64; nil for other text.
    public init?(_ text: String) {
        let base64 = text.hasPrefix("sha256/") ? text.dropFirst(7) : text[...]
        guard base64.utf8.count == 44, let data = Data(base64Encoded: String(base64)) else { return nil }
        self.init(sha256: Array(data))
    }

    public var description: String { "sha256/\(Data(sha256).base64EncodedString())" }
}
