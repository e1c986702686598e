internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// Owns the pools of one loop. Its executor is the loop, so libcurl's handles need no lock.
actor TransportEngine {
    /// The commands of callers and consumers. They are handled in the order in which they were posted, so that a
    /// cancellation never overtakes the start of what it cancels.
    enum Command: Sendable {
        case start(ExchangeHandle, ConnectionPath, ExchangeCaller)
        case cancel(ExchangeHandle)
        case resumeReceiving(ExchangeHandle)
        case takeBack(ExchangeHandle)
        case resumeSending(ExchangeHandle)
        case controlChanged(ExchangeHandle)
        case open(OpeningHandle, ConnectionPath, TunnelOpening.Continuation)
        case cancelOpening(OpeningHandle)
        case pump(TunnelPlace)
        case secure(TunnelEnds, TunnelSecuring.Order)
        case end(TunnelPlace, TunnelEnd)
        case retire(@Sendable (ConnectionPath) -> Bool)
        case endAll(LoadError, @Sendable (ConnectionPath) -> Bool)
        case judge(@Sendable (OpenConnection) -> LoadError?)
        case shutdown(CheckedContinuation<Void, Never>)
    }

    /// How a tunnel is ended from this side.
    enum TunnelEnd: Sendable {
        /// Both directions, as libcurl does.
        case close
        /// The last reference was released: ends both directions, unless the tunnel was told to end by itself.
        case released
        /// Both, with a reset.
        case reset
        /// Ours at once, and the rest within a time.
        case shutdown(within: Duration)
    }

    nonisolated let loop: EventLoop
    private nonisolated let inbox = Lock<[Command]>([])
    /// Posted commands, not handled yet, that end many tunnels: these must not send meanwhile.
    private nonisolated let endings = Atomic(0)
    /// The storage of the last commands, for the next ones.
    private var spare: [Command] = []
    private static let spareCommands = 256
    private var pools: [PoolKey: Pool] = [:]
    /// The pool that was asked for last, if it is one of these: mostly the next one, too.
    private var lastPool: Pool?
    /// Pools without new members, until their last member has ended.
    private var retired: [Pool] = []
    private(set) var isShutDown = false
    private let idleLifetime: Duration
    private let engine: HTTP1Engine
    nonisolated let waitLimits = BriefWait.Limits.chosen
    let share: LoopShare
    /// What is known of relays from which nothing was heard for a while.
    var suspicions = RelaySuspicions()
    /// The last question for the reason of losses.
    var question: LossQuestion?
    let whenRelayBreaks: (@Sendable () async -> Void)?
    private lazy var sweeper = LoopTimer { [weak self] in self?.assumeIsolated { $0.sweep() } }

    /// - Parameter idleLifetime: how long a path's connections idle before they are closed; up to twice as long.
    init(
        on loop: EventLoop, idleLifetime: Duration, engine: HTTP1Engine,
        whenRelayBreaks: (@Sendable () async -> Void)?, whenAgreed: AgreedVersion.Listener?
    ) {
        self.whenRelayBreaks = whenRelayBreaks
        self.engine = engine
        share = LoopShare(waitLimits: waitLimits, whenAgreed: whenAgreed)
        CurlLibrary.prepare()
        self.loop = loop
        self.idleLifetime = idleLifetime
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Takes a command from any thread. Commands that come while one waits share its wake-up.
    nonisolated func post(_ command: Command) {
        if command.endsMany { endings.add(1, ordering: .sequentiallyConsistent) }
        let isFirst = inbox.withLock { inbox in
            inbox.append(command)
            return inbox.count == 1
        }
        guard isFirst, !loop.executeIfRunning({ self.assumeIsolated { $0.handlePosted() } }) else { return }
        var commands: [Command] = []
        takePosted(&commands)
        for command in commands { refuse(command) }
    }

    /// Starts an exchange: at once if the caller runs on the loop, or has the loop while its thread sleeps. Never before
    /// a command that waits, so that a start does not overtake an earlier command that ends all exchanges.
    ///
    /// - Parameter mayWait: whether the caller's thread may wait for the answer for a moment (``BriefWait``).
    nonisolated func start(
        _ exchange: ExchangeHandle, via path: ConnectionPath, answering caller: ExchangeCaller, mayWait: Bool
    ) {
        if loop.isCurrent, hasNoCommands { return assumeIsolated { $0.start(exchange, path, caller) } }
        var lent: Int32?
        atOnce(or: .start(exchange, path, caller)) { engine in
            engine.share.callerMayWait = mayWait && engine.isIdle
            defer { engine.share.callerMayWait = false }
            guard engine.sendsAtOnce(exchange, path, caller) else { return false }
            lent = engine.connection(of: exchange)?.lentDescriptor
            return true
        }
        guard let lent else { return }
        let hasBytes = waitLimits.wait(for: lent)
        atOnce(or: .takeBack(exchange)) { engine in
            engine.takeBack(exchange, hasBytes: hasBytes)
            return true
        }
    }

    /// Does what a command stands for on the caller's thread, if the loop sleeps and no earlier command waits; posts the
    /// command if it does not, or if it is refused.
    ///
    /// - Parameter body: returns whether it was done. It connects to no server and makes no handshake, which may take
    ///   long.
    nonisolated func atOnce(or command: @autoclosure () -> Command, _ body: (isolated TransportEngine) -> Bool) {
        let isDone = loop.runIfAsleep { hasNoCommands && assumeIsolated(body) } ?? false
        if !isDone { post(command()) }
    }

    nonisolated var hasNoCommands: Bool { inbox.withLock { $0.isEmpty } }

    /// Starts an exchange if it goes over an idle connection.
    private func sendsAtOnce(
        _ exchange: ExchangeHandle, _ path: ConnectionPath, _ caller: ExchangeCaller
    ) -> Bool {
        guard !isShutDown else { return false }
        let pool = pool(for: exchange, path)
        guard pool.idle.hasConnection(to: exchange.origin) else { return false }
        start(exchange, caller, in: pool)
        return true
    }

    nonisolated var isEnding: Bool { endings.load(ordering: .sequentiallyConsistent) > 0 }

    /// Takes the commands that were posted since the last time, and leaves its own storage for the next ones.
    private nonisolated func takePosted(_ commands: inout [Command]) {
        inbox.withLock { swap(&$0, &commands) }
    }

    func handlePosted() {
        var commands = spare
        spare = []
        takePosted(&commands)
        for command in commands { handle(command) }
        commands.removeAll(keepingCapacity: commands.count <= Self.spareCommands)
        spare = commands
    }

    /// The loop has ended, and with it everything in progress.
    private nonisolated func refuse(_ command: Command) {
        switch command {
        case .start(let exchange, _, let caller): exchange.refuse(Self.invalidated(), caller)
        case .open(_, _, let continuation): continuation.resume(returning: .failure(Self.invalidated()))
        case .secure(_, let order): order.continuation(.failure(Self.invalidated()))
        case .shutdown(let continuation): continuation.resume()
        case .cancel, .resumeReceiving, .takeBack, .resumeSending, .controlChanged, .cancelOpening, .pump, .end,
            .retire, .endAll, .judge:
            break
        }
    }

    private func handle(_ command: Command) {
        switch command {
        case .start(let exchange, let path, let caller): start(exchange, path, caller)
        case .cancel(let exchange): share.exchanges[exchange].map { $0.pool?.end($0, .cancelled()) }
        case .resumeReceiving(let exchange): share.exchanges[exchange]?.resumeReceiving()
        case .takeBack(let exchange): takeBack(exchange, hasBytes: false)
        case .resumeSending(let exchange): share.exchanges[exchange]?.resumeSending()
        case .controlChanged(let exchange): share.exchanges[exchange]?.controlChanged()
        case .open(let opening, let path, let continuation): open(opening, path, continuation)
        case .cancelOpening(let opening): share.openings[opening].map { $0.pool?.end($0, .cancelled()) }
        case .pump(let place): share.streams[place]?.pump()
        case .secure(let ends, let order): secure(ends, order)
        case .end(let place, let end): share.streams[place]?.end(end)
        case .retire(let isAffected): retire { isAffected($0.path) }
        case .endAll(let failure, let isAffected):
            end(failure, where: isAffected)
            endings.subtract(1, ordering: .sequentiallyConsistent)
        case .judge(let judge):
            self.judge(by: judge)
            endings.subtract(1, ordering: .sequentiallyConsistent)
        case .shutdown(let continuation):
            shutdown()
            endQuestion(continuation)
        }
    }

    private func start(
        _ exchange: ExchangeHandle, _ path: ConnectionPath, _ caller: ExchangeCaller
    ) {
        guard !isShutDown else { return exchange.refuse(Self.invalidated(), caller) }
        start(exchange, caller, in: pool(for: exchange, path))
    }

    private func start(_ exchange: ExchangeHandle, _ caller: ExchangeCaller, in pool: Pool) {
        guard !exchange.isCancelled else { return exchange.refuse(.cancelled(), caller) }
        Exchange(exchange, answering: caller).start(in: pool)
    }

    private func open(
        _ opening: OpeningHandle, _ path: ConnectionPath, _ continuation: TunnelOpening.Continuation
    ) {
        let refusal: LoadError? = isShutDown ? Self.invalidated() : opening.isCancelled ? .cancelled() : nil
        if let refusal { return continuation.resume(returning: .failure(refusal)) }
        TunnelOpening(opening, answering: continuation).start(in: pool(PoolKey(path: path)))
    }

    private func secure(_ ends: TunnelEnds, _ order: TunnelSecuring.Order) {
        guard let stream = share.streams[ends.place] else { return ends.refuse(order) }
        stream.secure(order)
    }

    var allPools: [Pool] { retired + pools.values }

    private func pool(_ key: PoolKey) -> Pool {
        if let lastPool, lastPool.isOf(key.path, isMultiplexing: key.isMultiplexing) { return lastPool }
        let pool = pools[key] ?? newPool(key)
        lastPool = pool
        return pool
    }

    private func newPool(_ key: PoolKey) -> Pool {
        if pools.isEmpty { scheduleSweep() }
        let pool = Pool(key.path, isMultiplexing: key.isMultiplexing, engine: engine, sharing: share, on: loop)
        pool.suspects = { [weak self] relay, access in self?.assumeIsolated { $0.suspect(relay, of: access) } }
        if whenRelayBreaks != nil, key.path.relay != nil {
            pool.whenLost = { [weak self] in self?.assumeIsolated { $0.askForReason() } }
        }
        pools[key] = pool
        return pool
    }

    /// An exchange whose reader may be slow shares no connection, unless the server is known for HTTP/1, which shares
    /// none.
    private func pool(for exchange: ExchangeHandle, _ path: ConnectionPath) -> Pool {
        let shared = PoolKey(path: path)
        guard exchange.mayStallOthers else { return pool(shared) }
        let origin = exchange.origin
        if let pool = pools[shared], pool.isOneByOne(origin) { return pool }
        let streaming = PoolKey(path: path, isMultiplexing: false)
        guard engine != .libcurl, share.protocols.isOneByOne(origin, at: .now) else { return pool(streaming) }
        if let pool = pools[streaming], pool.hasIdleTransfer(to: origin) { return pool }
        return pool(shared)
    }

    // MARK: Idleness

    private func scheduleSweep() { loop.set(sweeper, at: .now.advanced(by: idleLifetime)) }

    /// Closes idle connections: a path may belong to a principal that is never used again.
    private func sweep() {
        let idle = Set(pools.filter { $0.value.takeIdleness() }.keys)
        retire { idle.contains($0) }
        if !pools.isEmpty { scheduleSweep() }
    }

    // MARK: End

    private func end(_ failure: LoadError, where isAffected: (ConnectionPath) -> Bool) {
        for pool in allPools where isAffected(pool.configuration.path) {
            for member in pool.allMembers { pool.end(member, failure) }
        }
    }

    private func judge(by judge: @escaping @Sendable (OpenConnection) -> LoadError?) {
        // What is still being made is judged again when it is known where it leads and which version of TLS it has.
        share.judge = judge
        for pool in allPools {
            for member in pool.allMembers {
                if let refusal = judge(pool.openConnection(of: member)) { pool.end(member, refusal) }
            }
        }
        let refused = Set(pools.filter { $0.value.idleConnections.contains { judge($0) != nil } }.keys)
        retire { refused.contains($0) }
    }

    private func retire(where isAffected: (PoolKey) -> Bool) {
        lastPool = nil
        for key in pools.keys where isAffected(key) {
            guard let pool = pools.removeValue(forKey: key) else { continue }
            retired.append(pool)
            pool.retire()
        }
        retired.removeAll(where: \.isClosed)
        if pools.isEmpty { loop.set(sweeper, at: nil) }
    }

    /// Ends all exchanges and tunnels, then frees the pools.
    private func shutdown() {
        isShutDown = true
        for pool in allPools {
            for member in pool.allMembers { pool.end(member, Self.invalidated()) }
        }
        retire { _ in true }
    }

    private static func invalidated() -> LoadError {
        LoadError(.sessionInvalidated, "The transport was shut down.")
    }
}

/// The properties that the connections of a pool have in common.
private struct PoolKey: Hashable {
    var path: ConnectionPath
    /// See ``ExchangeRequest/collectsUpTo``.
    var isMultiplexing = true
}

extension TransportEngine.Command {
    /// Whether the command may end tunnels that other threads write to.
    fileprivate var endsMany: Bool {
        switch self {
        case .endAll, .judge: true
        default: false
        }
    }
}
