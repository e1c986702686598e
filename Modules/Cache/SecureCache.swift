internal import HTTPTypes
internal import Logging
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import Synchronization

/// The cache of one app instance, in its encrypted store: RFC 9111, as a private cache.
///
/// One for all sessions of the instance. Entries belong to the principal in whose name they were loaded. Nothing of their
/// content is kept in memory; see Docs/Cache.md.
public final class SecureCache: Sendable {
    /// What ``diskCapacity`` is where nothing else is said: 100 MiB.
    public static let defaultDiskCapacity = 100 << 20
    /// What ``maxCacheFileSize`` is where nothing else is said: 1 MiB.
    public static let defaultMaxCacheFileSize = 1 << 20

    struct Settings: Sendable {
        var diskCapacity = SecureCache.defaultDiskCapacity
        var maxCacheFileSize = SecureCache.defaultMaxCacheFileSize
        var maxCacheFileAge: Duration?

        /// The longest body that is kept, in bytes: nothing larger than a twentieth of the capacity.
        var longestBody: Int64 { Int64(max(0, min(maxCacheFileSize, diskCapacity / 20))) }
    }

    struct State: Sendable {
        var settings = Settings()
        var index = CacheIndex()
        var flights: [RequestKey: Flight] = [:]
        var unstorable = Unstorable()
        var removals = Removals()
        var counts = CacheCounts()
        /// Entries whose last use is not written yet.
        var used: [EntryID: IndexSlot] = [:]
        /// What is asked of servers behind answers that were given already.
        var behind: Set<RequestKey> = []
        var isEvicting = false
        var isReady = true
        /// What the app has put in this one's place; nil while it stands there itself.
        var substitute: Substitute?
    }

    /// Nil if the app has put nothing there.
    struct Substitute: Sendable { let cache: SecureCache? }

    /// Nil for an object that is not the instance's: it keeps nothing.
    let storage: EntryStorage?
    let keys: CacheKeys
    let state = Lock(State())
    /// Whether any answer could not be stored so far: else no request goes past the cache, and none is hashed to find out.
    let knowsUnstorable = Atomic(false)
    /// Bytes that were handed to the store and are not written yet.
    let pendingOctets = Atomic(0)
    /// Those behind answers that were given already: few, each bounded in time, and all cancelled with the cache.
    let revalidations = DetachedTasks()
    /// Stands for `Authorization` in requests that are signed when they are sent: another one in each process, since
    /// nobody knows after a restart whose proof it was.
    private let mark = "signed \(UInt64.random(in: .min ... .max))"
    let patience: Flight.Patience
    let now: @Sendable () -> CacheTime
    private let gate: (any AccessGate)?

    /// The cache that lies in a store.
    ///
    /// - Parameters:
    ///   - store: entries lie in its reserved name space.
    ///   - gate: is asked before each use; nil where the store may be used anyway.
    public convenience init(store: SecureStore, gate: (any AccessGate)?) {
        self.init(store: store, gate: gate, now: { CacheTime.system() })
    }

    init(
        store: SecureStore, gate: (any AccessGate)?, patience: Flight.Patience = Flight.Patience(),
        now: @escaping @Sendable () -> CacheTime
    ) {
        storage = EntryStorage(store)
        keys = CacheKeys(secret: store.secret(for: "cache"))
        self.gate = gate
        self.patience = patience
        self.now = now
        load()
    }

    /// An object of the app's own, which keeps nothing: where it stands in the place of the instance's cache, caching is
    /// off, as the documents say of another object than the secure cache.
    public init(memoryCapacity: Int, diskCapacity: Int) {
        storage = nil
        keys = CacheKeys(secret: Redacted(Array(repeating: 0, count: 16)))
        gate = nil
        patience = Flight.Patience()
        now = { CacheTime.system() }
        state.withLock { $0.settings.diskCapacity = diskCapacity }
    }

    deinit { revalidations.cancel() }

    /// Reads the index. Where it does not fit the entries, damage hides some of either: all of them are let go.
    private func load() {
        guard let storage else { return }
        if let slots = try? storage.slots() {
            var index = CacheIndex()
            // The newest last: a crash may have left what it took the place of.
            let replaced = slots.sorted { $0.received < $1.received }.flatMap { index.insert($0) }
            state.withLock { $0.index = index }
            if !replaced.isEmpty { storage.store.submit(storage.remove(replaced.map(\.id))) }
            return
        }
        state.withLock { $0.isReady = false }
        storage.store.submit(storage.removeAll) { [weak self] result in
            guard case .success = result else { return }
            self?.state.withLock { $0.isReady = true }
        }
    }

    func marked(_ request: LoadRequest) -> LoadRequest {
        var request = request
        request.headerFields[.authorization] = mark
        return request
    }

    func checkGate() throws(AccessDenied) { try gate?.checkAuthorized() }
}

// MARK: Settings

extension SecureCache {
    /// How large all entries together may be, in bytes; 100 MiB by default. Those used least lately make room in the
    /// background.
    public var diskCapacity: Int {
        get { state.withLock { $0.settings.diskCapacity } }
        set {
            state.withLock { $0.settings.diskCapacity = max(0, newValue) }
            evictIfNeeded()
        }
    }

    /// Always 0: nothing decrypted is kept in memory.
    public var memoryCapacity: Int { 0 }

    /// The longest body that is kept, in bytes; 1 MiB by default, 0 switches the cache off. A body of more than a
    /// twentieth of ``diskCapacity`` is not kept either.
    public var maxCacheFileSize: Int {
        get { state.withLock { $0.settings.maxCacheFileSize } }
        set { state.withLock { $0.settings.maxCacheFileSize = max(0, newValue) } }
    }

    /// How old an answer may be that is used without asking its server; it counts where it is less than what the server
    /// says. None by default.
    public var maxCacheFileAge: Duration? {
        get { state.withLock { $0.settings.maxCacheFileAge } }
        set { state.withLock { $0.settings.maxCacheFileAge = newValue } }
    }

    /// Figures of this moment. Asks no gate: they say nothing of any entry.
    public var statistics: CacheStatistics {
        state.withLock { state in
            CacheStatistics(
                entries: state.index.count, octets: Int(clamping: state.index.size), counts: state.counts)
        }
    }
}
