internal import CSecureStore
public import Crypto
internal import Glibc

/// Protects a store by the content of a file.
///
/// A key file beside the data gives no protection if both are copied; keep it on another device, or use a systemd
/// credential or a passphrase.
public struct KeyFileProtector: KeyProtector {
    public let path: String
    public var kind: String { "key-file" }

    public init(path: String) { self.path = path }

    /// The least length of a key file, in bytes.
    static let minimumLength = 32
    private static let maximumLength = 4096

    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        if !Files.exists(path) { try create() }
        let salt = SystemRandom.bytes(32)
        return (try wrappingKey(parameters: salt), salt)
    }

    private func create() throws(StoreError) {
        var secret = SystemRandom.bytes(32)
        defer { unsafe secret.withUnsafeMutableBytes { unsafe sp_clear($0.baseAddress, $0.count) } }
        try Files.create(path, with: secret, mode: 0o600)
    }

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

    public func destroySecret(inDirectory directory: String) throws(StoreError) {
        guard Files.realPath(path).hasPrefix(Files.realPath(directory) + "/") else { return }
        try Files.destroy(path)
    }
}
