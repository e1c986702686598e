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
    /// In bytes.
    public static let maximumKeyLength = 4096
    /// In bytes: 64 MiB. Longer ones are streamed.
    public static let maximumValueLength = 64 << 20
    /// Of a collection's name, in bytes.
    public static let maximumNameLength = 256
    /// How many changes wait for a reader of ``changes(in:)`` before they are dropped.
    public static let maximumPendingChanges = 256

    let path: String
    let ring: KeyRing
    let environment: Environment
    let writer: Writer?
    let upkeep: Upkeep
    let rotatesInBackground: Bool
    let hub = ChangeHub()
    /// Where the last writer did not close the store: the check of its records.
    let recovery: Recovery?

    /// Opens a store, and creates it if there is none.
    ///
    /// Blocks the calling task while files are read and synced, and while a key is derived from a passphrase.
    ///
    /// - Throws: ``StoreError/Code/inUse`` if the store is open for writing elsewhere, ``StoreError/Code/wrongKey``,
    ///   ``StoreError/Code/notFound``, ``StoreError/Code/wiped``, ``StoreError/Code/damaged``,
    ///   ``StoreError/Code/unsafePermissions`` if other users can enter the directory, or if it belongs to a user other
    ///   than root and the process's effective user.
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
        rotatesInBackground = options.rotatesInBackground
        let lock = options.isReadOnly ? nil : try WriterLock(directory: path)
        if !options.isReadOnly, try StoreDirectory.finishWipe(path, protectedBy: protector), !options.createsIfMissing {
            throw StoreError(.wiped, "The store at \(path) was wiped.")
        }
        if !options.isReadOnly {
            try StoreDirectory.finishRestore(path)
            try StoreDirectory.discardStaging(path)
        }
        let isNew = !Files.exists("\(path)/\(KeyRingFile.name)")
        let (ring, file) = try Self.keys(in: path, protectedBy: protector)
        self.ring = ring
        upkeep = Upkeep(file, protector, lock)
        let environment = try Environment(directory: path, options: options)
        self.environment = environment
        let wasLeftOpen = !isNew && (lock.map { !$0.wasClean } ?? WriterLock.wasLeftOpen(path))
        recovery = try Self.checked(environment, at: path, ring, wasLeftOpen: wasLeftOpen)
        let work = RotationWork(ring: ring, upkeep: upkeep)
        writer =
            options.isReadOnly
            ? nil
            : Writer(
                environment: environment, ring: ring, background: { work.nextPart() },
                tell: { [hub] events in hub.tell(events) })
        takeUp()
    }

    /// Looks at what is in the environment; closes it where that is refused, since readers that idle keep it.
    private static func checked(
        _ environment: Environment, at path: String, _ ring: KeyRing, wasLeftOpen: Bool
    ) throws(StoreError) -> Recovery? {
        do throws(StoreError) {
            let recovery =
                try wasLeftOpen || environment.isShort ? Recovery(environment, path: path, ring: ring) : nil
            try RecordCheck.checkAnyOpens(in: environment, ring: ring)
            return recovery
        } catch {
            environment.close()
            throw error
        }
    }

    private static func keys(
        in path: String, protectedBy protector: any KeyProtector
    ) throws(StoreError) -> (KeyRing, KeyRingFile) {
        if Files.exists("\(path)/\(KeyRingFile.name)") { return try KeyRingFile.open(in: path, protectedBy: protector) }
        try StoreDirectory.createData(in: path)
        let ring = KeyRing.generate()
        let file = try KeyRingFile.create(for: ring, in: path, protectedBy: protector)
        try StoreDirectory.forgetWipe(path)
        return (ring, file)
    }

    /// Goes on with what the last writer left: streams that never ended, a rotation; or watches for a writer's.
    private func takeUp() {
        guard let writer else {
            return ring.follow(KeyReader(path: path, protector: upkeep.protector, memory: ring.memory))
        }
        _ = writer.enqueue(
            Writer.Part(
                prepare: { [ring] tree, changes in
                    let transaction = WriteTransaction(tree: tree, ring: ring, changes: changes)
                    defer { transaction.end() }
                    guard (try? transaction.abandonPendingStreams()) != nil else { return false }
                    changes = transaction.changes
                    return true
                }, finish: { _ in }))
        if rotatesInBackground, ring.dataKeys.count > 1 { startRotation() }
    }

    deinit { close() }

    var dataPath: String { "\(path)/\(Environment.fileName)" }

    /// Waits for writes under way and closes. Idempotent; every later call throws ``StoreError/Code/closed``.
    ///
    /// Called by the closure of a write, it returns at once, and the store closes when that write has ended.
    public func close() {
        let closing = Closing(
            path: path, ring: ring, environment: environment, upkeep: upkeep, hub: hub)
        guard let writer else { return closing.run() }
        writer.stop { closing.run() }
    }

    /// Destroys the keys, then the data, and closes the store. From the sync of the keys on nothing in the directory
    /// is readable; a wipe that is interrupted is finished by the next ``open(at:protectedBy:options:)``.
    ///
    /// Flash memory, copy-on-write file systems and backups may keep old blocks.
    @concurrent
    public func wipe() async throws(StoreError) {
        guard let writer else { throw StoreError(.readOnly, "The store was opened read-only.") }
        writer.stop {}
        environment.close()
        try StoreDirectory.wipe(path, protectedBy: upkeep.protector)
        close()
    }
}

/// What closes a store, apart from it: the last reference may be let go of on the writer's own thread.
private struct Closing: Sendable {
    let path: String
    let ring: KeyRing
    let environment: Environment
    let upkeep: Upkeep
    let hub: ChangeHub

    func run() {
        upkeep.endRotation(StoreError(.closed, "The store is closed."))
        hub.end()
        environment.close()
        upkeep.releaseLock()
        guard upkeep.leave() else { return }
        ring.clear()
        OpenDirectories.leave(path)
    }
}

// MARK: Collections

extension SecureStore {
    /// A collection of Codable values, kept as JSON.
    ///
    /// - Parameters:
    ///   - name: 1 to ``maximumNameLength`` bytes; a longer one fails at its first use.
    ///   - order: whether the file discloses how the keys are ordered, so that ranges of them cost what is read.
    public func collection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self, order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, Value> {
        collection(order.space, name, order, codec: .json)
    }

    /// A collection of bytes.
    public func collection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, [UInt8]> {
        collection(order.space, name, order, codec: .octets)
    }

    /// A collection in the name space of Sallyport's own modules, which the public calls cannot reach.
    package func reservedCollection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, Value> {
        collection("reserved", name, .unordered, codec: .json)
    }

    /// A collection of bytes in the name space of Sallyport's own modules.
    package func reservedCollection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, [UInt8]> {
        collection("reserved", name, .unordered, codec: .octets)
    }

    private func collection<Key: StoreKey, Value>(
        _ space: String, _ name: String, _ order: CollectionOrder, codec: ValueCodec<Value>
    ) -> StoreCollection<Key, Value> {
        let fullName = Array(space.utf8) + [0] + Array(name.utf8)
        return StoreCollection(
            name: name, order: order, fullName: fullName, cipher: ring.cipher(ofCollection: fullName), codec: codec)
    }

    /// What happens to a collection from now on; see ``StoreChanges`` for what is dropped when.
    public func changes<Key, Value>(in collection: StoreCollection<Key, Value>) -> StoreChanges<Key> {
        StoreChanges(watcher: hub.watch(collection.cipher.identifier))
    }
}

// MARK: Transactions

extension SecureStore {
    /// Reads from one consistent snapshot, on the calling thread; short, since it holds back the reuse of space.
    public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
        var tree = try environment.enter()
        defer { environment.leave(&tree) }
        return try body(ReadTransaction(tree: tree, ring: ring))
    }

    /// Changes the store: all or nothing, durable when it returns.
    ///
    /// `body` runs on the store's writer thread, alone. What it throws is thrown again, and nothing is kept. Writers
    /// that come at the same time share one sync. Once begun, cancelling the task does not undo it.
    ///
    /// Where the transaction that several share cannot be committed (the disk is full), each is tried again alone:
    /// `body` then runs a second time, and nothing of the first is kept.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result
    ) async throws -> Result {
        guard let writer else { throw StoreError(.readOnly, "The store was opened read-only.") }
        return try await withCheckedThrowingContinuation { continuation in
            let part = Writer.Part.transaction(ring: ring, body) { continuation.resume(with: $0) }
            guard !writer.enqueue(part) else { return }
            continuation.resume(throwing: StoreError(.closed, "The store is closed."))
        }
    }
}
