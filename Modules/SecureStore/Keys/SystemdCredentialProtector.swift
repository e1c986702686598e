public import Crypto
internal import Glibc

/// Protects a store by a credential of the service (systemd.exec(5), "Credentials").
public struct SystemdCredentialProtector: KeyProtector {
    /// The credential's name in the unit, without a slash.
    public let name: String
    /// `systemd-credential`.
    public var kind: String { "systemd-credential" }

    /// - Parameter name: as in `LoadCredential=NAME:…`. The credential is read when the store is opened.
    public init(name: String) { self.name = name }

    /// Reads the credential; it must exist before the store.
    ///
    /// - Throws: as ``wrappingKey(parameters:)``.
    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        let salt = SystemRandom.bytes(32)
        return (try wrappingKey(parameters: salt), salt)
    }

    /// Reads the credential from `$CREDENTIALS_DIRECTORY`: 16 bytes to 1 MiB of full entropy.
    ///
    /// - Throws: ``StoreError/Code/keyUnavailable`` if the name is invalid, the process was not started with the
    ///   credential, or it is too short.
    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
            throw StoreError(.keyUnavailable, "A credential's name has no slash.")
        }
        guard let directory = unsafe getenv("CREDENTIALS_DIRECTORY").map({ unsafe String(cString: $0) }) else {
            throw StoreError(.keyUnavailable, "CREDENTIALS_DIRECTORY is not set: not started by systemd?")
        }
        let path = "\(directory)/\(name)"
        guard Files.exists(path) else {
            throw StoreError(.keyUnavailable, "systemd handed over no credential \(name).")
        }
        return try unsafe Files.withSecret(path, upTo: 1 << 20) { secret throws(StoreError) in
            guard secret.count >= 16 else {
                throw StoreError(.keyUnavailable, "The credential \(name) has fewer than 16 bytes.")
            }
            return unsafe StoreWrapping.key(from: secret, salt: parameters, kind: kind)
        }
    }
}
