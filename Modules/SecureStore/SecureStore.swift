internal import SallyportCore

/// An encrypted, crash-safe store of typed collections.
///
/// Names and values are encrypted (AES-256); what ``write(_:)`` acknowledged survives the loss of the process and of
/// power, and nothing of a transaction that was not acknowledged is half there. One process writes; others may open
/// it read-only beside. See Docs/SecureStore.md for what is promised and what is not.
///
/// ```swift
/// let store = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
/// let profiles = store.collection("profiles", of: Profile.self)
/// try await store.write { try $0.set(profile, for: "ann", in: profiles) }
/// ```
public final class SecureStore: Sendable {
    /// In octets.
    public static let maximumKeyLength = 4096
    /// In octets: 64 MiB.
    public static let maximumValueLength = 64 << 20
    /// Of a collection's name, in octets.
    public static let maximumNameLength = 256

    private let path: String
    private let protector: any KeyProtector
    let ring: KeyRing
    let environment: Environment
    private let writer: Writer?
    private let writerLock: Lock<WriterLock?>
    private let isEntered = Lock(true)

    /// Opens a store, and makes it where there is none.
    ///
    /// Blocks the calling task while files are read and synced, and where a passphrase is stretched.
    ///
    /// - Throws: ``StoreError/Code/inUse`` where another opener writes, ``StoreError/Code/wrongKey``,
    ///   ``StoreError/Code/notFound``, ``StoreError/Code/damaged``, ``StoreError/Code/unsafePermissions`` where others
    ///   may enter the directory.
    @concurrent
    public static func open(
        at path: String, protectedBy protector: some KeyProtector, options: StoreOptions = StoreOptions()
    ) async throws(StoreError) -> SecureStore {
        try StoreDirectory.prepare(path, options: options)
        let real = Files.realPath(path)
        try OpenDirectories.enter(real)
        do throws(StoreError) {
            return try SecureStore(at: real, protectedBy: protector, options: options)
        } catch {
            OpenDirectories.leave(real)
            throw error
        }
    }

    private init(
        at path: String, protectedBy protector: any KeyProtector, options: StoreOptions
    ) throws(StoreError) {
        self.path = path
        self.protector = protector
        let lock = options.isReadOnly ? nil : try WriterLock(directory: path)
        if !options.isReadOnly, try StoreDirectory.finishWipe(path, protectedBy: protector), !options.createsIfMissing {
            throw StoreError(.wiped, "The store at \(path) was wiped.")
        }
        if Files.exists("\(path)/\(KeyRingFile.name)") {
            ring = try KeyRingFile.open(in: path, protectedBy: protector)
        } else {
            guard !Files.exists("\(path)/\(Environment.fileName)") else {
                throw StoreError(.damaged, "The data at \(path) has no keys.")
            }
            ring = try KeyRingFile.create(in: path, protectedBy: protector)
        }
        environment = try Environment(directory: path, options: options)
        if !options.isReadOnly { try Files.syncDirectory(of: "\(path)/\(Environment.fileName)") }
        writer = options.isReadOnly ? nil : Writer(environment: environment)
        writerLock = Lock(lock)
    }

    deinit { close() }

    var dataPath: String { "\(path)/\(Environment.fileName)" }

    /// Waits for writes under way and closes. Idempotent; every later call throws ``StoreError/Code/closed``.
    public func close() {
        writer?.stop()
        environment.close()
        writerLock.withLock { $0 = nil }
        let wasEntered = isEntered.withLock { isEntered in
            defer { isEntered = false }
            return isEntered
        }
        if wasEntered { OpenDirectories.leave(path) }
    }

    /// Destroys the keys, then the data, and closes the store. From the sync of the keys on nothing in the directory
    /// is readable; a wipe that is interrupted is finished by the next ``open(at:protectedBy:options:)``.
    ///
    /// Flash memory, copy-on-write file systems and backups may keep old blocks.
    @concurrent
    public func wipe() async throws(StoreError) {
        guard let writer else { throw StoreError(.readOnly, "The store was opened read-only.") }
        writer.stop()
        environment.close()
        try StoreDirectory.wipe(path, protectedBy: protector)
        close()
    }
}

// MARK: Collections

extension SecureStore {
    /// A collection of Codable values, kept as JSON.
    ///
    /// - Parameter name: 1 to ``maximumNameLength`` octets; a longer one fails at its first use.
    public func collection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, Value> {
        StoreCollection(name: name, cipher: cipher("public", name), codec: .json)
    }

    /// A collection of octets.
    public func collection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, [UInt8]> {
        StoreCollection(name: name, cipher: cipher("public", name), codec: .octets)
    }

    /// A collection in the name space of Sallyport's own modules, which the public calls cannot reach.
    package func reservedCollection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, Value> {
        StoreCollection(name: name, cipher: cipher("reserved", name), codec: .json)
    }

    /// A collection of octets in the name space of Sallyport's own modules.
    package func reservedCollection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, [UInt8]> {
        StoreCollection(name: name, cipher: cipher("reserved", name), codec: .octets)
    }

    private func cipher(_ space: String, _ name: String) -> RecordCipher {
        RecordCipher(ring: ring, name: Array(space.utf8) + [0] + Array(name.utf8))
    }
}

// MARK: Transactions

extension SecureStore {
    /// Reads from one consistent snapshot, on the calling thread; short, since it holds back the reuse of space.
    public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
        do {
            return try environment.read { try body(ReadTransaction(tree: $0)) }
        } catch let error as StoreError where error.message == Environment.mapWasResized {
            try environment.adoptSize()
            return try environment.read { try body(ReadTransaction(tree: $0)) }
        }
    }

    /// Changes the store: all or nothing, durable when it returns.
    ///
    /// `body` runs on the store's writer thread, alone. What it throws is thrown again, and nothing is kept. Writers
    /// that come at the same time share one sync. Once begun, cancelling the task does not undo it.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result
    ) async throws -> Result {
        guard let writer else { throw StoreError(.readOnly, "The store was opened read-only.") }
        return try await withCheckedThrowingContinuation { continuation in
            let outcome = Lock<Swift.Result<Result, any Error>?>(nil)
            let part = Writer.Part(
                prepare: { tree, changes in
                    let transaction = WriteTransaction(tree: tree, changes: changes)
                    defer { transaction.end() }
                    let result = Swift.Result { try body(transaction) }
                    outcome.withLock { $0 = result }
                    guard case .success = result else { return false }
                    changes = transaction.changes
                    return true
                },
                finish: { failure in
                    let result = outcome.withLock { $0 }
                    switch (result, failure) {
                    case (.failure(let error), _): continuation.resume(throwing: error)
                    case (.success(let value), nil): continuation.resume(returning: value)
                    case (_, let failure):
                        continuation.resume(
                            throwing: failure ?? StoreError(.internalFailure, "The writer did not run."))
                    }
                })
            guard !writer.enqueue(part) else { return }
            continuation.resume(throwing: StoreError(.closed, "The store is closed."))
        }
    }
}
