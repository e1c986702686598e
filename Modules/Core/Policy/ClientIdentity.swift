public import SallyportBase

/// A certificate chain and its private key, for TLS.
public struct ClientIdentity: Sendable {
    /// The leaf first, DER.
    public let certificates: [[UInt8]]
    /// PKCS#8, PEM; empty where ``signer`` has it.
    public let privateKey: Redacted<String>
    /// Signs with a key that stays where it is; nil where ``privateKey`` is the key.
    public let signer: (any IdentitySigner)?

    public init(certificates: [[UInt8]], privateKey: Redacted<String>) {
        self.certificates = certificates
        self.privateKey = privateKey
        signer = nil
    }

    public init(certificates: [[UInt8]], signer: any IdentitySigner) {
        self.certificates = certificates
        privateKey = Redacted("")
        self.signer = signer
    }
}

extension ClientIdentity: Hashable {
    /// Two signers are equal where they are the same object.
    public static func == (left: ClientIdentity, right: ClientIdentity) -> Bool {
        left.certificates == right.certificates && left.privateKey == right.privateKey && left.signer === right.signer
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(certificates) }
}

/// Signs in TLS handshakes with a private key that does not leave its place: a token, an HSM, an agent.
public protocol IdentitySigner: AnyObject, Sendable {
    /// Signs with the private key of the identity's first certificate.
    ///
    /// Called on an event loop, in a handshake: every other connection of the loop waits for the return. The bytes are
    /// public, and already hashed.
    ///
    /// - Throws: any error; the handshake fails with `tlsFailed`.
    func signature(of input: [UInt8], by operation: SigningOperation) throws -> [UInt8]
}

/// What ``IdentitySigner`` is asked to do.
public enum SigningOperation: Sendable, Hashable {
    /// Sign a digest; the signature is DER (RFC 3279 §2.2.3).
    case ecdsa
    /// Pad a DigestInfo by PKCS #1 v1.5 (RFC 8017 §9.2) and apply the key.
    case rsaPKCS1
    /// Apply the key to a block of the modulus' length: it is padded already, for PSS.
    case rsaRaw
}
