internal import FoundationEssentials
public import Logging
public import SallyportCore
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
    /// Of a jar's name, in octets.
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

    struct State {
        var table = CookieTable()
        var isLoaded = false
        var isShutDown = false
        /// By number, what the store does not know yet.
        var pending: [UInt64: Pending] = [:]
        var lastVersion: UInt64 = 0
        /// Whether somebody will write what is pending.
        var isWriteDue = false
        /// Whether the store cannot be written: nothing is pending then.
        var isReadOnly = false
    }

    struct Pending {
        var change: CookieStorage.Change
        /// Grows with each change: what was written in between is not the newest.
        var version: UInt64
    }

    /// A jar for a session that an app composes itself; `Sallyport` has those of its sessions. One of a name, in one
    /// process: a second one would not see what the first keeps. End it with ``shutdown()`` before the store is closed.
    ///
    /// - Parameters:
    ///   - name: 1 to ``maximumNameLength`` octets; nil for the jar without a name.
    ///   - store: keeps the persistent cookies, where the app's own calls do not see them.
    ///   - gate: asked before the store is used.
    /// - Throws: ``CookieError/Code-swift.struct/invalidName``.
    public init(
        _ name: String, in store: SecureStore, gate: (any AccessGate)? = nil,
        logger: Logger = Logger(label: "sallyport.cookies")
    ) throws(CookieError) {
        guard (1...Self.maximumNameLength).contains(name.utf8.count) else {
            throw CookieError(.invalidName, "A jar's name has 1 to \(Self.maximumNameLength) octets.")
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

    // MARK: In memory

    /// Brings the stored cookies into memory where they are not. Those of a domain that became public meanwhile, and
    /// those that have expired, are removed.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/store``; what the gate says.
    package func load() async throws(CookieError) {
        try checkGate()
        guard count.load(ordering: .acquiring) < 0 else { return }
        guard state.withLock({ !$0.isShutDown }) else { throw CookieError(.store, "The jar is shut down.") }
        // What a lock left to be written is read again below.
        if state.withLock({ !$0.pending.isEmpty }) { try await flush() }
        let found: (records: [CookieRecord], lost: Int)
        do {
            found = try storage.load()
        } catch {
            throw CookieError(.store, "The cookies cannot be read.", underlying: error)
        }
        if found.lost > 0 {
            logger.warning("Stored cookies are damaged.", metadata: ["cookies": "\(found.lost)"])
        }
        let now = clock()
        var publicDomains: [Host: Bool] = [:]
        let unwanted = Set(
            found.records.filter { $0.entry.isExpired(at: now) || Self.isPublic($0.entry, &publicDomains) }
                .map(\.entry.number))
        change { state in
            guard !state.isLoaded, !state.isShutDown else { return [] }
            var effects: [CookieTable.Effect] = []
            for record in found.records {
                if unwanted.contains(record.entry.number) {
                    effects.append(.removed(record.entry, .expired, of: record.principal))
                } else {
                    state.table.restore(record.entry, of: record.principal, at: now)
                }
            }
            if found.lost > 0 { state.table.skipNumbers(1 << 20) }
            state.table.removeExcess(at: now, &effects)
            state.isLoaded = true
            return effects
        }
    }

    private static func isPublic(_ entry: CookieEntry, _ known: inout [Host: Bool]) -> Bool {
        guard !entry.isHostOnly, case .name(let name) = entry.host else { return false }
        if let isPublic = known[entry.host] { return isPublic }
        let isPublic = PublicSuffixList.system.isPublic(name)
        known[entry.host] = isPublic
        return isPublic
    }

    /// Forgets what is in memory: session cookies for good, persistent ones until they are read again.
    ///
    /// - Parameter isWiped: the store is gone, and nothing is written any more.
    package nonisolated func forget(isWiped: Bool) {
        let limits = state.withLock { $0.table.limits }
        change { state in
            state.table.overwrite()
            state.table = CookieTable()
            state.table.limits = limits
            state.isLoaded = false
            if isWiped { state.pending = [:] }
            return []
        }
    }

    // MARK: Changing

    /// Changes the table; tells the store and those who follow.
    nonisolated func change(_ body: (inout State) -> [CookieTable.Effect]) {
        let (effects, isDue) = state.withLock { state -> ([CookieTable.Effect], Bool) in
            let effects = body(&state)
            for effect in effects { state.note(effect) }
            count.store(state.isLoaded ? state.table.count : -1, ordering: .releasing)
            let isDue = !state.pending.isEmpty && !state.isWriteDue
            if isDue { state.isWriteDue = true }
            return (effects, isDue)
        }
        if !effects.isEmpty { hub.tell(effects) }
        // Without a parent: a request that sets a cookie does not wait for the disk. Docs/Concurrency.md.
        if isDue { Task { await self.writeSoon() } }
    }

    private func writeSoon() async {
        try? await Task.sleep(for: delay)
        state.withLock { $0.isWriteDue = false }
        do throws(CookieError) {
            try await flush()
        } catch {
            logger.warning("Cookies cannot be stored.", metadata: ["error": "\(error)"])
        }
    }

    /// Writes what is pending; durable on return.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/store``; what was pending stays so.
    package func flush() async throws(CookieError) {
        let pending = state.withLock { $0.pending }
        guard !pending.isEmpty else { return }
        do {
            try await storage.write(pending.mapValues(\.change))
        } catch {
            throw CookieError(.store, "The cookies cannot be written.", underlying: error)
        }
        state.withLock { state in
            for (number, written) in pending where state.pending[number]?.version == written.version {
                state.pending[number] = nil
            }
        }
    }

    /// Writes all that the store does not know, the last uses with it, and forgets the cookies. Idempotent; an instance's
    /// own `shutdown()` does it for its jars.
    public func shutdown() async {
        change { state in
            guard !state.isShutDown else { return [] }
            state.isShutDown = true
            return state.table.takeUnwrittenUses()
        }
        do throws(CookieError) {
            try await flush()
        } catch {
            logger.warning("Cookies cannot be stored.", metadata: ["error": "\(error)"])
        }
        hub.finish()
        forget(isWiped: false)
    }

    nonisolated func checkGate() throws(CookieError) {
        do throws(AccessDenied) {
            try gate?.checkAuthorized()
        } catch {
            throw CookieError(error)
        }
    }
}

extension CookieJar.State {
    mutating func note(_ effect: CookieTable.Effect) {
        guard !isReadOnly else { return }
        switch effect {
        case .set(let entry, let old, let principal):
            if entry.isPersistent {
                note(.put(CookieRecord(entry, of: principal).octets), entry.number)
            } else if let old, old.isPersistent {
                note(.remove, entry.number)
            }
        case .removed(let entry, _, _):
            if entry.isPersistent { note(.remove, entry.number) }
        case .touched(let entry, let principal):
            note(.put(CookieRecord(entry, of: principal).octets), entry.number)
        }
    }

    private mutating func note(_ change: CookieStorage.Change, _ number: UInt64) {
        lastVersion += 1
        pending[number] = CookieJar.Pending(change: change, version: lastVersion)
    }
}
