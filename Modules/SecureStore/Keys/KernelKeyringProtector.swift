internal import CSecureStore
public import Crypto
internal import Glibc

/// Protects a store by a secret in a keyring of the Linux kernel (keyrings(7)).
///
/// The secret is in kernel memory, in no file and never in swap, and is lost when the system restarts: for data that
/// need not survive that, or if the secret is set again at start (`keyctl padd user NAME @u`). Other processes of the
/// same user can read it. Some container runtimes forbid the system call; that is ``StoreError/Code/keyUnavailable``.
public struct KernelKeyringProtector: KeyProtector {
    /// The keyring, which determines how long the secret lives.
    public enum Keyring: Int32, Sendable, Hashable {
        /// Until the process ends.
        case process = -2
        /// Until the session ends.
        case session = -3
        /// For all sessions of the user.
        case user = -4
    }

    public let description: String
    /// The keyring that holds the secret.
    public let keyring: Keyring
    /// `kernel-keyring`.
    public var kind: String { "kernel-keyring" }

    private static let minimumLength = 16
    private static let maximumLength = 4096

    /// - Parameters:
    ///   - description: the name of the key, of type `user`, in the keyring.
    ///   - keyring: determines how long the secret lives.
    public init(description: String, keyring: Keyring = .user) {
        self.description = description
        self.keyring = keyring
    }

    /// Creates the secret, 32 random bytes, unless the keyring has one of this name. If several stores and processes do
    /// so at the same time, all have the same one. Creating one needs Linux 5.3.
    ///
    /// - Throws: ``StoreError/Code/keyUnavailable`` if the keyring cannot be used, or the secret has not 16 to 4,096
    ///   bytes; also if a key of this name has expired or was revoked, until the kernel removes it some minutes later.
    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        if try find() == nil { try add() }
        let salt = SystemRandom.bytes(32)
        return (try wrappingKey(parameters: salt), salt)
    }

    /// Reads the secret.
    ///
    /// - Throws: ``StoreError/Code/keyUnavailable`` if it is missing, cannot be read, or has not 16 to 4,096 bytes.
    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard let number = try find() else { throw failure("find") }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.maximumLength, alignment: 16)
        defer {
            unsafe sp_clear(bytes.baseAddress, bytes.count)
            unsafe bytes.deallocate()
        }
        let count = unsafe sp_keyring_read(number, bytes.baseAddress, bytes.count)
        guard count >= 0 else { throw failure("read") }
        guard (Self.minimumLength...Self.maximumLength).contains(count) else {
            throw StoreError(
                .keyUnavailable, "The key \(description) has not \(Self.minimumLength) to \(Self.maximumLength) bytes."
            )
        }
        return unsafe StoreWrapping.key(
            from: UnsafeRawBufferPointer(rebasing: bytes[0..<count]), salt: parameters, kind: kind)
    }

    /// Removes the key from the keyring; if there is none, this is no error. The store can no longer be opened then.
    public func removeKey() throws(StoreError) {
        guard let number = try find() else { return }
        guard sp_keyring_unlink(number, keyring.rawValue) == 0 else { throw failure("remove") }
    }

    /// Nil, with `errno`, if there is no key that can be used.
    private func find() throws(StoreError) -> Int32? {
        let number = unsafe sp_keyring_search(keyring.rawValue, description)
        if number >= 0 { return number }
        guard [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(errno) else { throw failure("search") }
        return nil
    }

    /// Adds a new secret, unless the keyring has a key of this name by now: another process may have added one since
    /// this one looked, and a store may depend on it.
    func add() throws(StoreError) {
        var secret = SystemRandom.bytes(32)
        defer { unsafe secret.withUnsafeMutableBytes { unsafe sp_clear($0.baseAddress, $0.count) } }
        let isReadable: Int32 = keyring == .user ? 1 : 0
        let result = unsafe secret.withUnsafeBytes {
            unsafe sp_keyring_add(keyring.rawValue, description, $0.baseAddress, $0.count, isReadable)
        }
        guard result == 0 || errno == EEXIST else { throw failure("add") }
    }

    private func failure(_ verb: String, fileID: StaticString = #fileID, line: UInt = #line) -> StoreError {
        let reason = unsafe String(cString: strerror(errno))
        return StoreError(
            .keyUnavailable, "Cannot \(verb) the key \(description) in the kernel's keyring: \(reason).",
            fileID: fileID, line: line)
    }
}
