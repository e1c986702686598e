public import Crypto
internal import Glibc

/// Protects a store by a credential of the service (systemd.exec(5), "Credentials").
public struct SystemdCredentialProtector: KeyProtector {
    public let name: String
    public var kind: String { "systemd-credential" }

    public init(name: String) { self.name = name }

    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        let salt = SystemRandom.bytes(32)
        return (try wrappingKey(parameters: salt), salt)
    }

    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
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
