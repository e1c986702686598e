internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport
internal import Synchronization

/// Loads requests, one pipeline for all of them.
///
/// A session of an instance reaches the servers behind the firewall, as the administrator's policy says; it throws
/// `notAuthorized`, `withdrawn` or `disabled` while it may not. ``shared`` is the default instance's session, and
/// the system session while there is none. Sessions keep connections of their own: make one and keep it.
///
/// All functions run on the caller's task, are cancelled with it (`cancelled`), and may be called from anywhere.
public final class SecureSession: Sendable {
    /// The settings with which the session was made. They are a copy and never change: a session with other settings is
    /// another session. A request's `LoadOptions` replace single ones for its load.
    public let configuration: SessionConfiguration
    /// Answers the challenges of loads that have no delegate of their own. Kept as long as the session.
    public let delegate: (any SessionDelegate)?
    let engine: LoadingEngine
    /// The registry of the instance to which this session belongs, or whose system session it is.
    let registry: ProtocolRegistry
    /// Names the session in the keys of its connections.
    let tag: String
    let life: SessionLife
    /// The loads, tasks and streams for which ``finishTasksAndInvalidate()`` waits.
    let running = RunningLoads()
    let chain: LoadChain
    /// The last stage of the chain.
    let sender: ConnectorStage
    /// Waits for connectivity.
    let waiter: ConnectivityWaiter
    /// What the contexts of all loads have in common.
    let terms: LoadTerms
    // Asked by each load.
    /// Whether each load is recorded.
    let recordsAll: Bool
    let hasOwnHandlers: Bool
    /// Streams of bytes to servers, by the same policy and with the same settings as its loads.
    let tunnels: ConnectorTunnels
    let observer: LoadObserver?
    let logger: Logger

    private static let sessionNumbers = Atomic(0)

    init(
        _ configuration: SessionConfiguration, of engine: LoadingEngine, registry: ProtocolRegistry? = nil,
        delegate: (any SessionDelegate)? = nil, generation: Int? = nil
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.engine = engine
        self.registry = registry ?? engine.registry
        tag = "\(Self.sessionNumbers.add(1, ordering: .relaxed).newValue)"
        life = SessionLife(of: engine, tag: tag, generation: generation)
        observer = LoadObserver.bootstrapped()
        logger = engine.logger
        hasOwnHandlers = !configuration.protocolClasses.isEmpty || !configuration.handlers.isEmpty
        recordsAll = observer != nil || delegate != nil || configuration.onRecord != nil
        terms = LoadTerms(
            logger: logger, proxies: configuration.proxies, session: tag,
            connectionsPerOrigin: configuration.connectionsPerOrigin, trust: TrustScopes(configuration),
            permission: life)
        let settings = ConnectionSettings(configuration, life: life, hasPolicy: engine.gate != nil)
        waiter = ConnectivityWaiter(configuration, engine)
        sender = ConnectorStage(
            connector: engine.connector, settings: settings, policy: configuration.cachePolicy, waiter: waiter)
        // The whole list of stages, from the top down.
        chain = LoadChain(
            [RedirectStage(configuration, sites: engine.sites, names: engine.gate), DecodingStage()]
                + engine.stages(configuration)
                + [sender])
        tunnels = ConnectorTunnels(
            connector: engine.connector, settings: settings, answerTimeout: configuration.resourceTimeout,
            onRecord: configuration.onRecord, logger: logger)
    }

    deinit {
        // Tags are never used again, so decisions that outlive the session only take up memory until this frees them.
        if engine.connector.hasDecisions {
            Task { [connector = engine.connector, tag] in await connector.forget(.session(tag)) }
        }
        engine.connector.client.closeConnections { [tag] in $0.partition.scope == .session(tag) }
    }

    /// Ends the session: loads in flight end with `sessionInvalidated`, and so does every later one.
    ///
    /// ``shared`` cannot be invalidated; the call has no effect on it.
    public func invalidate() {
        guard life.generation != nil else { return }
        life.end()
        engine.end(LoadingEngine.invalidated()) { [tag] in $0 == tag }
    }

    /// Refuses new loads, tasks and streams with `sessionInvalidated`, waits until those in progress have ended,
    /// including bodies and streams, and then invalidates the session.
    ///
    /// A task that was never resumed is not in progress. There is no time limit: cancelling the waiting task
    /// invalidates the session at once, as ``invalidate()`` does. ``shared`` cannot be invalidated; the call has no
    /// effect on it.
    public func finishTasksAndInvalidate() async {
        guard life.generation != nil else { return }
        do throws(LoadError) {
            try await running.finish()
        } catch {
            // The task was cancelled: ends what is still in progress.
        }
        invalidate()
    }
}
