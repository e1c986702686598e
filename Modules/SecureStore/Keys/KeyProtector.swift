public import Crypto

/// The source of the secret that protects a store's keys.
///
/// The store's own keys are random and are stored, wrapped, beside the data; the protector supplies the wrapping key.
///
/// Your own protector may use a vault, a TPM or a PKCS#11 token (`SallyportPKCS11Protector` does). It returns a key of
/// 16 to 64 bytes, always the same one for the same parameters, which cannot be derived from the directory alone:
/// ``StoreWrapping/key(from:salt:kind:)`` derives one from a secret of full entropy. If the key for given parameters
/// has changed, opening fails with ``StoreError/Code/wrongKey``; if the secret cannot be reached, throw
/// ``StoreError/Code/keyUnavailable``, with which a key of another length is refused as well. The calls may block; they
/// come one at a time for each store. Keep no more of the secret than necessary, and clear your copies.
public protocol KeyProtector: Sendable {
    /// The kind's name in the store's key file, such as `key-file`. At most 64 ASCII characters.
    var kind: String { get }

    /// Creates the wrapping key for a new store, and the parameters that are stored unencrypted to derive it again: a
    /// salt, cost parameters, a handle. At most 4 KiB.
    func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8])

    /// Derives the wrapping key again.
    func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey

    /// Destroys the part of the secret that is in the store's directory. Called by a wipe, and again
    /// if it throws, or if the rest of the wipe was not finished: what is gone already is no error.
    func destroySecret(inDirectory path: String) throws(StoreError)
}

extension KeyProtector {
    /// Does nothing: no part of the secret is in the directory.
    public func destroySecret(inDirectory path: String) throws(StoreError) {}
}

extension KeyProtector where Self == KeyFileProtector {
    /// 32 random bytes in a file of mode 0600, which is created with a new store if it is missing.
    public static func keyFile(_ path: String) -> KeyFileProtector { KeyFileProtector(path: path) }
}

extension KeyProtector where Self == PassphraseProtector {
    /// A passphrase, stretched by scrypt (RFC 7914).
    public static func passphrase(_ passphrase: String) -> PassphraseProtector {
        PassphraseProtector(passphrase: passphrase)
    }
}

extension KeyProtector where Self == SystemdCredentialProtector {
    /// A credential that systemd passes to the service (`LoadCredential=`, `LoadCredentialEncrypted=`).
    public static func systemdCredential(_ name: String) -> SystemdCredentialProtector {
        SystemdCredentialProtector(name: name)
    }
}

extension KeyProtector where Self == KernelKeyringProtector {
    /// 32 random bytes in a keyring of the kernel, created with a new store; lost after a restart of the system.
    public static func kernelKeyring(
        _ description: String, in keyring: KernelKeyringProtector.Keyring = .user
    ) -> KernelKeyringProtector {
        KernelKeyringProtector(description: description, keyring: keyring)
    }
}

/// Helpers for protectors.
public enum StoreWrapping {
    /// Derives a wrapping key from a secret of at least 16 bytes and full entropy (HKDF-SHA256, RFC 5869).
    ///
    /// - Parameters:
    ///   - secret: read during the call only.
    ///   - salt: random, stored in the protector's parameters.
    ///   - kind: the protector's kind.
    public static func key(from secret: UnsafeRawBufferPointer, salt: [UInt8], kind: String) -> SymmetricKey {
        unsafe HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), salt: salt, info: Array("sallyport store wrap \(kind)".utf8),
            outputByteCount: 32)
    }
}
