public import Logging
public import SallyportAuthorization
internal import SallyportBase
public import SallyportConnecting
public import SallyportCore
internal import SallyportEventLoop
internal import Synchronization

/// Whether the infrastructure, the app's gateway, is reachable.
///
/// While ``run()`` runs, it observes the machine's links, addresses and routes, which the kernel reports, and the
/// heartbeats of the gateway's event stream, and sends probes if those are missing. A loss is reported within 5 s; a
/// return within 1 s of a change of the network, and within 5 s otherwise. An interruption of less than 2 s is not
/// reported. This is about the gateway, not about the servers behind it: see ``Diagnostics``.
///
/// Loads that wait for connectivity observe it through `InfrastructureStatus`.
public actor Reachability: InstancePart {
    nonisolated let loop: EventLoop
    nonisolated let board = Board(ReachabilityState())
    nonisolated let infrastructureBoard = InfrastructureBoard()
    nonisolated let source: any LinkSource
    private nonisolated let changesOfNetwork = Atomic<UInt64>(0)
    private nonisolated let stopped: AsyncStream<Void>
    private nonisolated let stop: AsyncStream<Void>.Continuation
    /// The numbers of probes to send.
    private nonisolated let orders: AsyncStream<UInt64>
    private nonisolated let order: AsyncStream<UInt64>.Continuation
    private let times: LinkTimes
    private let logger: Logger
    private let origin = LoopInstant.now
    private var watch: LinkWatch?
    private var monitor: NetworkMonitor?
    private lazy var timer = LoopTimer { [weak self] in self?.assumeIsolated { $0.take { $0.timeCame(at: $1) } } }

    private weak var delegate: (any ReachabilityDelegate)?
    private var givenUp: [@Sendable () -> Void] = []

    /// Observes the gateway of an authorization, whose `run()` keeps the event stream open.
    ///
    /// - Parameters:
    ///   - authorization: names the gateway.
    ///   - connector: when its connections are assumed to be dead, because the gateway became unreachable, returned, or
    ///     is reached another way, they are no longer used for new requests; requests in flight continue. Not retained.
    ///   - logger: for changes of the link, at `debug`.
    public init(
        _ authorization: Authorization, retiring connector: Connector? = nil,
        logger: Logger = Logger(label: "sallyport.reachability")
    ) {
        self.init(source: authorization, logger: logger)
        guard let connector else { return }
        whenGivenUp { [weak connector] in connector?.retireConnections() }
    }

    init(
        source: any LinkSource, times: LinkTimes = LinkTimes(), on loop: EventLoop = EventLoopGroup.shared.next(),
        logger: Logger = Logger(label: "sallyport.reachability")
    ) {
        self.source = source
        self.times = times
        self.loop = loop
        self.logger = logger
        (stopped, stop) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (orders, order) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(8))
    }

    /// The event loop: the actor's functions run on its thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}

// MARK: Queries from any thread

extension Reachability {
    /// The current state.
    public nonisolated var state: ReachabilityState { board.value ?? ReachabilityState() }
    /// ``ReachabilityState/status`` of the current ``state``.
    public nonisolated var status: LinkStatus { state.status }
    /// ``ReachabilityState/isNetworkAvailable`` of the current ``state``; false while it is not observed.
    public nonisolated var isNetworkAvailable: Bool { state.isNetworkAvailable }
    /// ``ReachabilityState/isPushChannelAvailable`` of the current ``state``; false while it is not observed.
    public nonisolated var isPushChannelAvailable: Bool { state.isPushChannelAvailable }

    /// Each state from now on, beginning with the current one; every call makes a new sequence.
    public nonisolated func changes() -> ReachabilityChanges { ReachabilityChanges(stream: board.values()) }

    /// Sets the delegate that is called for changes; held weakly.
    public nonisolated func setDelegate(_ delegate: (any ReachabilityDelegate)?) {
        soon { [weak delegate] in $0.delegate = delegate }
    }

    /// Incremented by each change of links, addresses and routes.
    nonisolated var networkVersion: UInt64 { changesOfNetwork.load(ordering: .relaxed) }

    /// Calls `body` when existing connections are assumed to be dead: the gateway became unreachable, returned, or is
    /// reached another way. Called on the loop; must not block.
    nonisolated func whenGivenUp(_ body: @escaping @Sendable () -> Void) {
        soon { $0.givenUp.append(body) }
    }

    /// Runs `body` on the loop after everything enqueued before. So a synchronous call needs no lock for the actor's
    /// state, and every later call of the actor sees the change.
    private nonisolated func soon(_ body: @escaping @Sendable (isolated Reachability) -> Void) {
        _ = loop.executeIfRunning { self.assumeIsolated { body($0) } }
    }
}

extension Reachability: InfrastructureStatus {
    /// ``LinkStatus`` without the kind of interface; `unknown` while ``run()`` does not run.
    public nonisolated var infrastructure: InfrastructureState { infrastructureBoard.infrastructure }

    public nonisolated func infrastructureChanges() -> AsyncStream<InfrastructureState> {
        infrastructureBoard.infrastructureChanges()
    }
}

// MARK: Observation

extension Reachability {
    /// Observes the link until the task is cancelled or ``shutdown()`` is called; afterwards the state is unknown. Call
    /// it once, in parallel with `Authorization.run()`; `Sallyport.run()` does both.
    public func run() async {
        // Taken before the first observation, so that no change is missed.
        let (before, states) = (state, board.values())
        begin()
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.followChannel() }
            group.addTask { await self.followOrders() }
            group.addTask { await self.tellDelegate(states, after: before) }
            group.addTask { [stopped] in
                for await _ in stopped {}
                return true
            }
            while let isStopped = await group.next() {
                if isStopped { group.cancelAll() }
            }
        }
        end()
    }

    /// Ends ``run()`` and the sequences. Idempotent.
    public nonisolated func shutdown() {
        stop.finish()
        board.finish()
        infrastructureBoard.finish()
    }

    private var now: Duration { .nanoseconds(LoopInstant.now.nanoseconds - origin.nanoseconds) }

    private func begin() {
        guard watch == nil else { return }
        watch = LinkWatch(at: now, times: times) { $0 * Double.random(in: 0.8...1.2) }
        monitor = NetworkMonitor(on: loop) { [weak self] state in
            self?.changesOfNetwork.add(1, ordering: .relaxed)
            self?.assumeIsolated { $0.take { $0.networkChanged(state, at: $1) } }
        }
        if monitor == nil { logger.debug("The kernel reports no network changes here; only heartbeats and probes do.") }
        monitor?.start()
        take { $0.timeCame(at: $1) }
    }

    private func end() {
        monitor?.stop()
        monitor = nil
        watch = nil
        loop.set(timer, at: nil)
        order.finish()
        board.set(ReachabilityState())
        infrastructureBoard.set(.unknown)
    }

    private func take(_ step: (inout LinkWatch, Duration) -> [LinkWatch.Action]) {
        guard var present = watch else { return }
        let actions = step(&present, now)
        watch = present
        loop.set(timer, at: present.nextInstant.map { origin.advanced(by: $0) })
        for action in actions { perform(action) }
    }

    private func perform(_ action: LinkWatch.Action) {
        switch action {
        case .probe(let number): order.yield(number)
        case .call(let drops):
            source.callChannel(drops: drops)
            guard drops else { return }
            for body in givenUp { body() }
        case .report(let report):
            let state = ReachabilityState(report)
            logger.debug("The link changed.", metadata: ["state": "\(state)"])
            infrastructureBoard.set(state.infrastructure)
            board.set(state)
        }
    }

    // MARK: Children of run()

    private func followChannel() async -> Bool {
        for await channel in source.channelChanges() {
            switch channel {
            case .none: continue
            case .open(heard: 0, let connection):
                take { $0.streamOpened(LinkWatch.Ends(connection), at: $1) }
            case .open(_, let connection):
                // The first message may have overtaken the opening.
                take { watch, now in
                    watch.stream == .open
                        ? watch.streamSpoke(at: now) : watch.streamOpened(LinkWatch.Ends(connection), at: now)
                }
            case .lost: take { $0.streamEnded(at: $1) }
            case .displaced: take { $0.streamDisplaced(at: $1) }
            }
        }
        return false
    }

    private func followOrders() async -> Bool {
        await withDiscardingTaskGroup { group in
            for await number in orders { group.addTask { await self.probe(number) } }
            group.cancelAll()
        }
        return false
    }

    private func probe(_ number: UInt64) async {
        do throws(LoadError) {
            let connection = try await source.probe(within: times.probe)
            take { $0.probeAnswered(number, LinkWatch.Ends(connection), at: $1) }
        } catch {
            logger.debug("The gateway does not answer.", metadata: ["error": "\(error)"])
            take { $0.probeFailed(number, at: $1) }
        }
    }

    /// Not on the loop, because it calls the app's code.
    @concurrent private nonisolated func tellDelegate(
        _ states: AsyncStream<ReachabilityState>, after before: ReachabilityState
    ) async -> Bool {
        var last = before
        for await state in states where state != last {
            last = state
            await delegate?.reachability(self, didChange: state)
        }
        return false
    }
}
