internal import HTTPTypes
internal import Logging
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import Synchronization

/// The cache of one app instance, in its encrypted store: RFC 9111, as a private cache.
///
/// One for all sessions of the instance. Entries belong to the principal for which they were loaded. The memory
/// contains nothing of their content; see Docs/Cache.md.
public final class SecureCache: Sendable {
    /// The default of ``diskCapacity``: 100 MiB.
    public static let defaultDiskCapacity = 100 << 20
    /// The default of ``maxCacheFileSize``: 1 MiB.
    public static let defaultMaxCacheFileSize = 1 << 20

    struct Settings: Sendable {
        var diskCapacity = SecureCache.defaultDiskCapacity
        var maxCacheFileSize = SecureCache.defaultMaxCacheFileSize
        var maxCacheFileAge: Duration?

        /// The longest body that is stored, in bytes: never more than a twentieth of the capacity.
        var longestBody: Int64 { Int64(max(0, min(maxCacheFileSize, diskCapacity / 20))) }
    }

    struct State: Sendable {
        var settings = Settings()
        var index = CacheIndex()
        var flights: [RequestKey: Flight] = [:]
        var unstorable = Unstorable()
        var removals = Removals()
        /// Entries that left the index, and that the store could not remove. They are tried again when it has removed
        /// others, so that they do not come back when the cache is opened again.
        var unremoved: Set<EntryID> = []
        var counts = CacheCounts()
        /// The last uses that are not written yet.
        var used: [EntryID: CacheTime] = [:]
        /// The requests of the revalidations that run in the background.
        var behind: Set<RequestKey> = []
        /// What the eviction that is going on has taken out of the index; nil while none is.
        var victims: Set<EntryID>?
        var isReady = true
        /// The object that the app has set instead of this cache; nil while this cache is used.
        var substitute: Substitute?
    }

    /// Nil if the app has set nil.
    struct Substitute: Sendable { let cache: SecureCache? }

    /// Nil for an object that is not the instance's cache: it stores nothing.
    let storage: EntryStorage?
    let keys: CacheKeys
    let state = Lock(State())
    /// Whether any answer could not be stored so far: if not, no request is hashed to find that out.
    let knowsUnstorable = Atomic(false)
    /// Whether ``State/substitute`` is there: read by each load without the lock.
    let isReplaced = Atomic(false)
    /// Bytes that were passed to the store and are not written yet.
    let pendingBytes = Atomic(0)
    /// Background revalidations: few, each limited in time, and all cancelled with the cache.
    let revalidations = DetachedTasks()
    /// Stands for `Authorization` in requests that are signed when they are sent. Each process has another mark, since
    /// after a restart it is unknown whose proof it was.
    private let mark = "signed \(UInt64.random(in: .min ... .max))"
    let patience: Flight.Patience
    let now: @Sendable () -> CacheTime
    private let gate: (any AccessGate)?

    /// The cache in a store.
    ///
    /// - Parameters:
    ///   - store: contains the entries, in its reserved name space.
    ///   - gate: asked before each use; nil if the store may always be used.
    public convenience init(store: SecureStore, gate: (any AccessGate)?) {
        self.init(store: store, gate: gate, now: { CacheTime.system() })
    }

    init(
        store: SecureStore, gate: (any AccessGate)?, patience: Flight.Patience = Flight.Patience(),
        now: @escaping @Sendable () -> CacheTime
    ) {
        storage = EntryStorage(store)
        keys = CacheKeys(secret: store.secretOrRandom(for: "cache"))
        self.gate = gate
        self.patience = patience
        self.now = now
        load()
    }

    /// An object that stores nothing: if the app sets it instead of the instance's cache, caching is switched off.
    public init(memoryCapacity: Int, diskCapacity: Int) {
        storage = nil
        keys = CacheKeys(secret: Redacted(Array(repeating: 0, count: 16)))
        gate = nil
        patience = Flight.Patience()
        now = { CacheTime.system() }
        state.withLock { $0.settings.diskCapacity = diskCapacity }
    }

    deinit { revalidations.cancel() }

    /// Reads the index. If it does not match the entries, one of them is damaged, and all are removed.
    private func load() {
        guard let storage else { return }
        if let slots = try? storage.slots() {
            var index = CacheIndex()
            // The newest last: a crash may have left entries that they replaced.
            let replaced = slots.sorted { $0.received < $1.received }.flatMap { index.insert($0) }
            state.withLock { $0.index = index }
            submitRemoval(of: replaced.map(\.id))
            return
        }
        state.withLock { $0.isReady = false }
        storage.store.submit(storage.removeAll) { [weak self] result in
            guard case .success = result else { return }
            self?.state.withLock { $0.isReady = true }
        }
    }

    /// A request's fields with a mark instead of a proof that is made only when sending.
    func marked(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        fields[.authorization] = mark
        return fields
    }

    func checkGate() throws(AccessDenied) { try gate?.checkAuthorized() }
}

// MARK: Settings

extension SecureCache {
    /// The greatest size of all entries together, in bytes; 100 MiB by default. The least recently used entries are
    /// evicted in the background.
    public var diskCapacity: Int {
        get { state.withLock { $0.settings.diskCapacity } }
        set {
            state.withLock { $0.settings.diskCapacity = max(0, newValue) }
            evictIfNeeded()
        }
    }

    /// Always 0: nothing decrypted is kept in memory.
    public var memoryCapacity: Int { 0 }

    /// The longest body that is stored, in bytes; 1 MiB by default, 0 switches the cache off. A body of more than a
    /// twentieth of ``diskCapacity`` is not stored either.
    public var maxCacheFileSize: Int {
        get { state.withLock { $0.settings.maxCacheFileSize } }
        set { state.withLock { $0.settings.maxCacheFileSize = max(0, newValue) } }
    }

    /// The greatest age of an answer that is used without asking its server, if that is less than the server allows.
    /// None by default.
    public var maxCacheFileAge: Duration? {
        get { state.withLock { $0.settings.maxCacheFileAge } }
        set { state.withLock { $0.settings.maxCacheFileAge = newValue } }
    }

    /// The current statistics. The gate is not asked: they reveal nothing about any entry.
    public var statistics: CacheStatistics {
        state.withLock { state in
            CacheStatistics(
                entries: state.index.count, bytes: Int(clamping: state.index.size), counts: state.counts)
        }
    }
}
