public import Crypto

/// Where the secret comes from that protects a store's keys.
///
/// The store's own keys are random and lie wrapped beside the data; what wraps them is derived from the protector's
/// secret. A protector of your own may ask a vault, a TPM or a PKCS#11 token.
public protocol KeyProtector: Sendable {
    /// Names the kind in the store's key file, such as `key-file`. At most 64 ASCII characters.
    var kind: String { get }

    /// Makes the wrapping key for a new store, and what must be kept in the clear to make it again: a salt, cost
    /// parameters, a handle. At most 4 KiB.
    func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8])

    /// Makes the wrapping key again.
    func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey

    /// Destroys what of the secret lies in the store's directory. Called by a wipe.
    func destroySecret(inDirectory path: String) throws(StoreError)
}

extension KeyProtector {
    public func destroySecret(inDirectory path: String) throws(StoreError) {}
}

extension KeyProtector where Self == KeyFileProtector {
    /// 32 random octets in a file of mode 0600, made with a new store where the file is missing.
    public static func keyFile(_ path: String) -> KeyFileProtector { KeyFileProtector(path: path) }
}

extension KeyProtector where Self == PassphraseProtector {
    /// A passphrase, stretched by scrypt (RFC 7914).
    public static func passphrase(_ passphrase: String) -> PassphraseProtector {
        PassphraseProtector(passphrase: passphrase)
    }
}

extension KeyProtector where Self == SystemdCredentialProtector {
    /// A credential that systemd hands to the service (`LoadCredential=`, `LoadCredentialEncrypted=`).
    public static func systemdCredential(_ name: String) -> SystemdCredentialProtector {
        SystemdCredentialProtector(name: name)
    }
}

/// Derives a wrapping key from a secret of at least 16 octets and full entropy (HKDF-SHA256, RFC 5869).
func deriveWrappingKey(secret: [UInt8], salt: [UInt8], kind: String) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: secret), salt: salt, info: Array("sallyport store wrap \(kind)".utf8),
        outputByteCount: 32)
}
