internal import FoundationEssentials
public import Logging
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import Synchronization

/// The cookies of one name in an instance's store, by the rules of RFC 6265bis.
///
/// All of them lie in memory, where a request finds its own without waiting. Persistent ones lie in the store too,
/// encrypted: written together, durable within 200 ms and at the instance's `shutdown()`. Session cookies end with the
/// process, and with a lock or a wipe.
///
/// Each principal has cookies of its own. A domain has at most 180 of them, a jar 20,000; what is beyond goes in the order
/// of §5.7: expired ones, then in a domain the insecure ones, then the least lately used. A jar that is full evicts of
/// the principal that has most.
public actor CookieJar {
    /// Of a jar's name, in bytes.
    public static let maximumNameLength = 200
    /// How many cookies one principal may have of one domain.
    public static let maximumPerDomain = 180
    /// How many cookies there may be in a jar.
    public static let maximumCount = 20_000

    /// Nil for the instance's jar.
    public nonisolated let name: String?
    nonisolated let state: Lock<State>
    /// How many cookies there are; negative while they are not in memory. Read without the lock by each request.
    nonisolated let count = Atomic(-1)
    nonisolated let hub = CookieChangeHub()
    nonisolated let storage: CookieStorage
    nonisolated let gate: (any AccessGate)?
    nonisolated let logger: Logger
    nonisolated let clock: @Sendable () -> Int64
    /// How long changes are collected before they are written.
    nonisolated let delay: Duration

    /// A jar for a session that an app composes itself; `Sallyport` has those of its sessions. One of a name, in one
    /// process: a second one would not see what the first keeps. End it with ``shutdown()`` before the store is closed.
    ///
    /// - Parameters:
    ///   - name: 1 to ``maximumNameLength`` bytes.
    ///   - store: keeps the persistent cookies, where the app's own calls do not see them.
    ///   - gate: asked before the store is used.
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
    ///   - gate: asked before cookies are read from the store, and before the app gets or changes any.
    ///   - isReadOnly: whether the store was opened so.
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
