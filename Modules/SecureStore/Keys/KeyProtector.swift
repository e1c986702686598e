public import Crypto

/// Where the secret comes from that protects a store's keys.
///
/// The store's own keys are random and lie wrapped beside the data; what wraps them comes from the protector.
///
/// A protector of your own may ask a vault, a TPM or a PKCS#11 token (`SallyportPKCS11Protector` is one). It gives a
/// key of 16 to 64 bytes, the same one for the same parameters, which nobody can make who has only the directory:
/// ``StoreWrapping/key(from:salt:kind:)`` derives one from a secret of full entropy. Another key for the same
/// parameters shows as ``StoreError/Code/wrongKey``, what cannot be reached is to be thrown as
/// ``StoreError/Code/keyUnavailable``. The calls may block; they come one at a time for each store. Keep nothing of
/// the secret that you need not, and clear what you copy.
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
    /// 32 random bytes in a file of mode 0600, made with a new store where the file is missing.
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

extension KeyProtector where Self == KernelKeyringProtector {
    /// 32 random bytes in a keyring of the kernel, made with a new store; gone after a restart of the system.
    public static func kernelKeyring(
        _ description: String, in keyring: KernelKeyringProtector.Keyring = .user
    ) -> KernelKeyringProtector {
        KernelKeyringProtector(description: description, keyring: keyring)
    }
}

/// What protectors have in common.
public enum StoreWrapping {
    /// Derives a wrapping key from a secret of at least 16 bytes and full entropy (HKDF-SHA256, RFC 5869).
    ///
    /// - Parameters:
    ///   - salt: random, kept in the protector's parameters.
    ///   - kind: the protector's.
    public static func key(from secret: UnsafeRawBufferPointer, salt: [UInt8], kind: String) -> SymmetricKey {
        unsafe HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), salt: salt, info: Array("sallyport store wrap \(kind)".utf8),
            outputByteCount: 32)
    }
}
