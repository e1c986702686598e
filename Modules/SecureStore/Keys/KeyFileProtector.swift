internal import CSecureStore
public import Crypto
internal import Glibc

/// Protects a store by the content of a file.
///
/// A key file beside the data gives no protection if both are copied; keep it on another device, or use a systemd
/// credential or a passphrase.
public struct KeyFileProtector: KeyProtector {
    /// The key file: 32 to 4,096 bytes of full entropy, which only the user may be able to read.
    public let path: String
    /// `key-file`.
    public var kind: String { "key-file" }

    /// - Parameter path: of the key file, which is read when the store is opened, and created with a new store if it is
    ///   missing.
    public init(path: String) { self.path = path }

    /// The least length of a key file, in bytes.
    static let minimumLength = 32
    private static let maximumLength = 4096

    /// Creates the key file, 32 random bytes with mode 0600, unless it exists. If several stores and processes do so at
    /// the same time, all have the same one.
    ///
    /// - Throws: as ``wrappingKey(parameters:)``; ``StoreError/Code/fileSystem`` if it cannot be written.
    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        if !Files.exists(path) { try create() }
        let salt = SystemRandom.bytes(32)
        return (try wrappingKey(parameters: salt), salt)
    }

    private func create() throws(StoreError) {
        var secret = SystemRandom.bytes(32)
        defer { unsafe secret.withUnsafeMutableBytes { unsafe sp_clear($0.baseAddress, $0.count) } }
        try Files.createIfMissing(path, with: secret, mode: 0o600)
    }

    /// Reads the key file.
    ///
    /// - Throws: ``StoreError/Code/keyUnavailable`` if it is missing or has fewer than 32 bytes;
    ///   ``StoreError/Code/unsafePermissions`` if other users can reach it.
    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard Files.exists(path) else {
            throw StoreError(.keyUnavailable, "The key file \(path) is missing.")
        }
        return try unsafe SecretFile.withContent(
            path, kind: "key file", upTo: Self.maximumLength
        ) { secret throws(StoreError) in
            guard secret.count >= Self.minimumLength else {
                throw StoreError(.keyUnavailable, "The key file \(path) has fewer than \(Self.minimumLength) bytes.")
            }
            return unsafe StoreWrapping.key(from: secret, salt: parameters, kind: kind)
        }
    }

    /// Destroys the key file if it lies in the directory, and leaves any other. A file that cannot be overwritten is
    /// removed all the same, unless it could not be opened for the moment; either is an error.
    public func destroySecret(inDirectory directory: String) throws(StoreError) {
        guard Files.realPath(path).hasPrefix(Files.realPath(directory) + "/") else { return }
        try Files.destroy(path)
    }
}
