public import SallyportBase

/// A certificate chain and its private key, for TLS.
public struct ClientIdentity: Sendable {
    /// The leaf first, DER.
    public let certificates: [[UInt8]]
    /// PKCS#8, PEM; empty if there is a ``signer``.
    public let privateKey: Redacted<String>
    /// Signs with a key that is kept elsewhere; nil if ``privateKey`` is the key.
    public let signer: (any IdentitySigner)?

    /// An identity whose key is in memory.
    ///
    /// - Parameters:
    ///   - certificates: the leaf first, DER.
    ///   - privateKey: the leaf's key, PKCS#8 in PEM.
    public init(certificates: [[UInt8]], privateKey: Redacted<String>) {
        self.certificates = certificates
        self.privateKey = privateKey
        signer = nil
    }

    /// An identity whose key stays in a token, an HSM or an agent.
    ///
    /// - Parameters:
    ///   - certificates: the leaf first, DER.
    ///   - signer: signs with the leaf's key.
    public init(certificates: [[UInt8]], signer: any IdentitySigner) {
        self.certificates = certificates
        privateKey = Redacted("")
        self.signer = signer
    }
}

extension ClientIdentity: Hashable {
    /// Two signers are equal if they are the same object.
    public static func == (left: ClientIdentity, right: ClientIdentity) -> Bool {
        left.certificates == right.certificates && left.privateKey == right.privateKey && left.signer === right.signer
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(certificates) }
}

/// Signs in TLS handshakes with a private key that never leaves a token, an HSM or an agent.
public protocol IdentitySigner: AnyObject, Sendable {
    /// Signs with the private key of the identity's first certificate.
    ///
    /// Called on an event loop during a handshake: all other connections of the loop wait for the result. The bytes are
    /// public and already hashed.
    ///
    /// Must not use the stream whose handshake it is, which is locked meanwhile: the call would wait for itself. Nor
    /// may it wait for a load or another stream, which may be on the same loop.
    ///
    /// - Throws: any error; the handshake fails with `tlsFailed`.
    func signature(of input: [UInt8], by operation: SigningOperation) throws -> [UInt8]
}

/// The operation that an ``IdentitySigner`` performs.
public enum SigningOperation: Sendable, Hashable {
    /// Sign a digest; the signature is DER (RFC 3279 §2.2.3).
    case ecdsa
    /// Pad a DigestInfo by PKCS #1 v1.5 (RFC 8017 §9.2) and apply the private key.
    case rsaPKCS1
    /// Apply the private key to a block of the modulus' length, which is already padded for PSS.
    case rsaRaw
}
