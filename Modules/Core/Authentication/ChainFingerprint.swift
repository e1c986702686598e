internal import SallyportBase

/// Tells one certificate chain from another: the SHA-256 of the SHA-256 of each certificate, the server's own first.
public struct ChainFingerprint: Sendable, Hashable, CustomStringConvertible {
    public let sha256: [UInt8]

    /// Nil for anything but 32 bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// In hexadecimal.
    public var description: String { Hexadecimal.text(sha256) }
}
