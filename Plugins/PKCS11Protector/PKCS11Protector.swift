public import Crypto
internal import SallyportBase
internal import SallyportPKCS11Token
public import SallyportSecureStore

/// Protects a store by a key in a PKCS#11 token: a smart card, a USB key, a hardware security module.
///
/// The token contains a generic secret that never leaves it. The store's wrapping key is the token's HMAC-SHA-256 of a
/// random salt, which is stored beside the data; it cannot be computed without the token and its PIN. Once a store is
/// open, its keys are in memory and the token can be removed.
///
/// ```swift
/// let token = PKCS11Protector(module: "/usr/lib/softhsm/libsofthsm2.so", token: "app", pin: pin)
/// let store = try await SecureStore.open(at: path, protectedBy: token)
/// ```
///
/// The token must support `CKM_SHA256_HMAC`, and `CKM_GENERIC_SECRET_KEY_GEN` if the key is to be created; only then is
/// anything written to it, so that a token with the key may be write-protected. A module is loaded and initialised when
/// it is first needed, and stays loaded until the process ends; calls to all modules are made one at a time. A login of
/// PKCS#11 is the whole process's: while it is logged in to the token, as by a `PKCS11Identity`, the token checks no
/// PIN, and the store is opened with any PIN.
public struct PKCS11Protector: KeyProtector {
    /// The path of the token's PKCS#11 module, a shared library.
    public let module: String
    /// The token's label.
    public let token: String
    /// The label of the secret in the token. The secret is created with a new store if it is missing.
    public let keyLabel: String
    /// `pkcs11`.
    public var kind: String { "pkcs11" }

    private let pin: Redacted<String>

    /// - Parameters:
    ///   - module: the path of the token's PKCS#11 module, a shared library.
    ///   - token: the token's label.
    ///   - keyLabel: the label of the secret in the token.
    ///   - pin: the user's PIN. The token counts wrong ones, and may lock itself. Not checked while the process is
    ///     logged in already.
    public init(module: String, token: String, keyLabel: String = "sallyport", pin: String) {
        self.module = module
        self.token = token
        self.keyLabel = keyLabel
        self.pin = Redacted(pin)
    }

    /// Creates the secret in the token unless it has one with the label.
    ///
    /// - Throws: as ``wrappingKey(parameters:)``.
    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        let salt = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
        return (try wrappingKey(salt: salt, makesKey: true), salt)
    }

    /// Has the token compute the key from its secret.
    ///
    /// - Throws: `unsupportedFormat` for the parameters of another version; `wrongKey` if the PIN is wrong;
    ///   `keyUnavailable` if the token cannot be used, or has no such secret.
    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard parameters.count == 32 else {
            throw StoreError(.unsupportedFormat, "The token's parameters are of another version.")
        }
        return try wrappingKey(salt: parameters, makesKey: false)
    }

    private func wrappingKey(salt: [UInt8], makesKey: Bool) throws(StoreError) -> SymmetricKey {
        do throws(TokenError) {
            return try TokenTurn.lock.withLock { _ throws(TokenError) in
                try wrappingKeyOfToken(salt: salt, makesKey: makesKey)
            }
        } catch {
            throw StoreError(error.code == .wrongPIN ? .wrongKey : .keyUnavailable, error.message)
        }
    }

    private func wrappingKeyOfToken(salt: [UInt8], makesKey: Bool) throws(TokenError) -> SymmetricKey {
        let loaded = try TokenModule(path: module)
        let session = try loaded.session(with: token, pin: pin.reveal())
        defer { session.close() }
        let found = try session.secret(labelled: keyLabel)
        if let found { return try session.authenticationCode(of: salt, with: found) }
        guard makesKey else {
            throw TokenError(.unavailable, "The token \(token) has no secret \(keyLabel).")
        }
        let writing = try loaded.session(with: token, pin: pin.reveal(), mayWrite: true)
        defer { writing.close() }
        return try writing.authenticationCode(of: salt, with: writing.makeSecret(labelled: keyLabel))
    }
}
