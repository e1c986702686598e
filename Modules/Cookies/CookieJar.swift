internal import FoundationEssentials
public import Logging
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import Synchronization

/// A jar of cookies in an instance's store, by the rules of RFC 6265bis.
///
/// All cookies are in memory, where a request finds its own without waiting. Persistent ones are also stored,
/// encrypted: they are written in groups, and are durable within 200 ms and after the instance's `shutdown()`. Session
/// cookies end with the process, and with a lock or a wipe.
///
/// Each principal has its own cookies. There are at most 180 for a domain and 20,000 in a jar; excess cookies are
/// evicted in the order of §5.7: first expired ones, then the domain's insecure ones, then those used least recently. A
/// full jar evicts cookies of the principal that has the most.
public actor CookieJar {
    /// The longest name of a jar, in bytes.
    public static let maximumNameLength = 200
    /// The most cookies that one principal may have for one domain.
    public static let maximumPerDomain = 180
    /// The most cookies in a jar.
    public static let maximumCount = 20_000

    /// Nil for the instance's jar.
    public nonisolated let name: String?
    nonisolated let state: Lock<State>
    /// The number of cookies; negative while they are not in memory. Each request reads it without the lock.
    nonisolated let count = Atomic(-1)
    nonisolated let hub = CookieChangeHub()
    nonisolated let storage: CookieStorage
    nonisolated let gate: (any AccessGate)?
    nonisolated let logger: Logger
    nonisolated let clock: @Sendable () -> Int64
    /// How long changes are collected before they are written.
    nonisolated let delay: Duration

    /// Creates a jar for a session that an app composes itself; `Sallyport` creates those of its sessions. A process
    /// may have only one jar for each name: a second one would not see the first one's cookies. Call ``shutdown()``
    /// before the store is closed.
    ///
    /// - Parameters:
    ///   - name: 1 to ``maximumNameLength`` bytes.
    ///   - store: stores the persistent cookies where the app's own calls cannot reach them.
    ///   - gate: asked before the store is used.
    ///   - logger: for cookies that are refused, damaged or cannot be stored; no message has a value.
    /// - Throws: ``CookieError/Code-swift.struct/invalidName``.
    public init(
        _ name: String, in store: SecureStore, gate: (any AccessGate)? = nil,
        logger: Logger = Logger(label: "sallyport.cookies")
    ) throws(CookieError) {
        guard (1...Self.maximumNameLength).contains(name.utf8.count) else {
            throw CookieError(.invalidName, "A jar's name has 1 to \(Self.maximumNameLength) bytes.")
        }
        self.init(name: name, in: store, gate: gate, logger: logger)
    }

    /// As ``init(_:in:gate:logger:)``, the jar without a name.
    public init(
        in store: SecureStore, gate: (any AccessGate)? = nil, logger: Logger = Logger(label: "sallyport.cookies")
    ) {
        self.init(name: nil, in: store, gate: gate, logger: logger)
    }

    /// - Parameters:
    ///   - gate: asked before cookies are read from the store, and before the app reads or changes any.
    ///   - isReadOnly: whether the store was opened read-only.
    ///   - clock: milliseconds since 1970.
    package init(
        name: String?, in store: SecureStore, gate: (any AccessGate)?, logger: Logger, isReadOnly: Bool = false,
        limits: (perDomain: Int, inAll: Int) = (CookieJar.maximumPerDomain, CookieJar.maximumCount),
        delay: Duration = .milliseconds(100), clock: @escaping @Sendable () -> Int64 = { Date().milliseconds }
    ) {
        self.name = name
        self.gate = gate
        self.logger = logger
        self.clock = clock
        self.delay = delay
        storage = CookieStorage(store, jar: name)
        var state = State()
        state.isReadOnly = isReadOnly
        state.table.limits = CookieTable.Limits(perDomain: limits.perDomain, inAll: limits.inAll)
        self.state = Lock(state)
    }
}
