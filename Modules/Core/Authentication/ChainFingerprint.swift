internal import SallyportBase

/// Identifies a certificate chain: the SHA-256 of the SHA-256 of each certificate, the server's own first.
public struct ChainFingerprint: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let sha256: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// In hexadecimal.
    public var description: String { Hexadecimal.text(sha256) }
}
