/// An encrypted, crash-safe store of typed collections.
///
/// Names and values are encrypted (AES-256). Changes that ``write(isolation:_:)`` has acknowledged survive a crash of the
/// process and a loss of power, and no transaction is ever applied partly. One process writes; others may open the store
/// read-only at the same time. See Docs/SecureStore.md for what is guaranteed.
///
/// ```swift
/// let store = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
/// let profiles = store.collection("profiles", of: Profile.self)
/// try await store.write { try $0.set(profile, for: "ann", in: profiles) }
/// ```
public final class SecureStore: Sendable {
    /// The longest key, in bytes.
    public static let maximumKeyLength = 4096
    /// The longest value, in bytes: 64 MiB. Longer values are streamed.
    public static let maximumValueLength = 64 << 20
    /// The longest name of a collection, in bytes.
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
    /// The check of the records if the last writer did not close the store.
    let recovery: Recovery?

    /// Opens a store, and creates it if there is none.
    ///
    /// Blocks the calling task while files are read and synced, and while a key is derived from a passphrase.
    ///
    /// - Throws: ``StoreError/Code/inUse`` if the store is open for writing elsewhere, ``StoreError/Code/wrongKey``,
    ///   ``StoreError/Code/notFound``, ``StoreError/Code/wiped``, ``StoreError/Code/damaged``,
    ///   ``StoreError/Code/unsafePermissions`` if other users can enter the directory, or if it belongs to a user other
    ///   than root and the process's effective user, ``StoreError/Code/internalFailure`` if the process has some 500
    ///   stores open, or the system gives it no more threads.
    @concurrent
    public static func open(
        at path: String, protectedBy protector: some KeyProtector, options: StoreOptions = StoreOptions()
    ) async throws(StoreError) -> SecureStore {
        try StoreDirectory.prepare(path, options: options)
        let real = Files.realPath(path)
        try OpenDirectories.enter(real)
        do throws(StoreError) {
            return try underLock(at: real, protectedBy: protector, options: options)
        } catch {
            OpenDirectories.leave(real)
            throw error
        }
    }

    private static func underLock(
        at path: String, protectedBy protector: any KeyProtector, options: StoreOptions
    ) throws(StoreError) -> SecureStore {
        let lock = options.isReadOnly ? nil : try WriterLock(directory: path)
        do throws(StoreError) {
            return try SecureStore(at: path, under: lock, protectedBy: protector, options: options)
        } catch {
            lock?.leaveAsFound()
            throw error
        }
    }

    private init(
        at path: String, under lock: WriterLock?, protectedBy protector: any KeyProtector, options: StoreOptions
    ) throws(StoreError) {
        self.path = path
        rotatesInBackground = options.rotatesInBackground
        if !options.isReadOnly, try StoreDirectory.finishInterrupted(path, protectedBy: protector),
            !options.createsIfMissing
        {
            throw StoreError(.wiped, "The store at \(path) was wiped.")
        }
        let isNew = !Files.exists("\(path)/\(KeyRingFile.name)")
        let (ring, file) = try Self.keys(in: path, protectedBy: protector)
        self.ring = ring
        if options.isReadOnly {
            // The process that writes the store may have made a data key since, and the first check meets its records.
            ring.follow(KeyReader(path: path, protector: protector, memory: ring.memory))
        }
        upkeep = Upkeep(file, protector, lock)
        let environment = try Environment(directory: path, options: options)
        self.environment = environment
        let wasLeftOpen = !isNew && (lock.map { !$0.wasClean } ?? WriterLock.wasLeftOpen(path))
        recovery = try Self.checked(environment, at: path, ring, upkeep, wasLeftOpen: wasLeftOpen)
        writer = try options.isReadOnly ? nil : Self.startWriter(environment, ring, upkeep, hub)
        takeUp()
    }

    /// Starts the writer's thread, and closes the environment on an error, because idle readers retain it.
    private static func startWriter(
        _ environment: Environment, _ ring: KeyRing, _ upkeep: Upkeep, _ hub: ChangeHub
    ) throws(StoreError) -> Writer {
        let work = RotationWork(ring: ring, upkeep: upkeep)
        do throws(StoreError) {
            return try Writer(
                environment: environment, ring: ring, background: { work.nextPart() },
                tell: { events in hub.tell(events) })
        } catch {
            environment.close()
            throw error
        }
    }

    /// Checks the content of the environment, and closes it on an error, because idle readers retain it.
    private static func checked(
        _ environment: Environment, at path: String, _ ring: KeyRing, _ upkeep: Upkeep, wasLeftOpen: Bool
    ) throws(StoreError) -> Recovery? {
        do throws(StoreError) {
            let recovery =
                try wasLeftOpen || environment.isShort
                ? Recovery(environment, path: path, ring: ring, upkeep: upkeep) : nil
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

    /// Continues what the last writer left unfinished: incomplete streams, a rotation.
    private func takeUp() {
        guard let writer else { return }
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

    /// Waits for running writes and closes. Idempotent; every later call throws ``StoreError/Code/closed``.
    ///
    /// If it is called in the closure of a read or a write, it returns at once, and the store closes when that has
    /// ended.
    public func close() {
        let close: @Sendable () -> Void = { [writer, closing] in
            guard let writer else { return closing.run() }
            writer.stop { closing.run() }
        }
        if !environment.defersClosing(close) { close() }
    }

    private var closing: Closing {
        Closing(path: path, ring: ring, environment: environment, upkeep: upkeep, hub: hub)
    }

    /// Destroys the keys, then the data, and closes the store. Once the destruction of the keys is synced, nothing in
    /// the directory is readable; the next ``open(at:protectedBy:options:)`` finishes an interrupted wipe.
    ///
    /// New reads and writes are refused from the call on, also a read that a write makes. Those that are under way or
    /// queued go on otherwise, and only the removal of the data waits for them: the process may end in a closure that runs for long.
    ///
    /// A store that was closed is wiped too, unless it has been opened again since. A second call waits for the end of
    /// the first, and does nothing if that has succeeded. If a wipe fails, the store stays unusable and claims its
    /// directory until it is closed or wiped.
    ///
    /// Flash memory, copy-on-write file systems and backups may keep old blocks.
    ///
    /// - Throws: ``StoreError/Code/readOnly``; ``StoreError/Code/inUse`` if this store was closed, and is open for
    ///   writing elsewhere or in this process: nothing is changed then; ``StoreError/Code/fileSystem``.
    @concurrent
    public func wipe() async throws(StoreError) {
        guard let writer else { throw StoreError(.readOnly, "The store was opened read-only.") }
        await upkeep.beginWipe()
        defer { if upkeep.endWipe() { close() } }
        guard !upkeep.isWiped else { return }
        var wipe = StoreWipe(of: path)
        // Closures of the app may run for long, and the process may end in one: they are waited for last.
        environment.refuse()
        writer.refuse()
        if upkeep.isClaimHeld { wipe.begin(destroyingKeys: upkeep.refuseKeys()) }
        writer.stop { [closing] in closing.endWaiting() }
        // Nothing makes keys any more, and the protector has no other call.
        if upkeep.isClaimHeld { try? wipe.destroySecrets(protectedBy: upkeep.protector) }
        environment.close()
        try finish(&wipe)
        upkeep.noteWiped()
    }

    /// Once the store is closed, another process may have it open: the wipe then claims the directory as an opening
    /// does.
    private func finish(_ wipe: inout StoreWipe) throws(StoreError) {
        let protector = upkeep.protector
        guard !upkeep.isClaimHeld else { return try wipe.finish(protectedBy: protector) }
        try Self.exclusively(at: path) { real throws(StoreError) in
            try StoreDirectory.wipe(real, protectedBy: protector)
        }
    }
}

/// What is needed to close a store, apart from it: the last reference may be released on the writer's own thread.
private struct Closing: Sendable {
    let path: String
    let ring: KeyRing
    let environment: Environment
    let upkeep: Upkeep
    let hub: ChangeHub

    /// Called when the writer has stopped: nothing that is waited for comes any more.
    func endWaiting() {
        upkeep.endRotation(StoreError(.closed, "The store is closed."))
        hub.end()
    }

    func run() {
        endWaiting()
        environment.close()
        guard upkeep.beginRelease() else { return }
        upkeep.releaseLock()
        ring.clear()
        OpenDirectories.leave(path)
        upkeep.endRelease()
    }
}

// MARK: Collections

extension SecureStore {
    /// A collection of Codable values, stored as JSON.
    ///
    /// - Parameters:
    ///   - name: 1 to ``maximumNameLength`` bytes; a longer name fails at its first use.
    ///   - values: the type of the values.
    ///   - keys: the type of the keys.
    ///   - order: whether the file may reveal the order of the keys, so that ranges of them can be read efficiently.
    public func collection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self, order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, Value> {
        collection(order.space, name, order, codec: .json)
    }

    /// A collection of byte arrays.
    public func collection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, [UInt8]> {
        collection(order.space, name, order, codec: .bytes)
    }

    /// A collection in the name space of Sallyport's own modules, which the public calls cannot reach.
    package func reservedCollection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, Value> {
        collection("reserved", name, .unordered, codec: .json)
    }

    /// A collection of byte arrays in the name space of Sallyport's own modules.
    package func reservedCollection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self
    ) -> StoreCollection<Key, [UInt8]> {
        collection("reserved", name, .unordered, codec: .bytes)
    }

    private func collection<Key: StoreKey, Value>(
        _ space: String, _ name: String, _ order: CollectionOrder, codec: ValueCodec<Value>
    ) -> StoreCollection<Key, Value> {
        let fullName = Array(space.utf8) + [0] + Array(name.utf8)
        return StoreCollection(
            name: name, order: order, fullName: fullName, cipher: ring.cipher(ofCollection: fullName), codec: codec)
    }

    /// The changes of a collection from now on; ``StoreChanges`` says which of them may be dropped.
    public func changes<Key, Value>(in collection: StoreCollection<Key, Value>) -> StoreChanges<Key> {
        StoreChanges(watcher: hub.watch(collection.cipher.identifier))
    }
}

// MARK: Transactions

extension SecureStore {
    /// Reads from one consistent snapshot, on the calling thread. Keep it short: a snapshot delays the reuse of space.
    public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
        var tree = try environment.enter()
        defer { environment.leave(&tree) }
        return try body(ReadTransaction(tree: tree, ring: ring))
    }

    /// Changes the store: all or nothing, durable when it returns.
    ///
    /// `body` runs on the store's writer thread, one write at a time. If it throws, nothing is kept, and the error is
    /// thrown again. Writers that arrive at the same time share one sync. Cancelling the task does not undo a write
    /// that has begun.
    ///
    /// If a shared transaction cannot be committed (the disk is full), each write is tried again alone: `body` then
    /// runs a second time, and nothing of its first run is kept.
    ///
    /// - Parameters:
    ///   - isolation: the caller's actor. The write is queued before the actor goes on, so that the writes of one actor
    ///     keep their order.
    ///   - body: reads and changes the store.
    public func write<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
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
