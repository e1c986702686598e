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
    enum Kind: Sendable {
        case secure(SecureEngine)
        /// With the handlers of the instance whose `shared` this session is, if it is one.
        case system(SystemEngine, ProtocolRegistry?)

        var connector: Connector {
            switch self {
            case .secure(let engine): engine.connector
            case .system(let engine, _): engine.connector
            }
        }

        var waitingLoads: WaitingLoads {
            switch self {
            case .secure(let engine): engine.waitingLoads
            case .system(let engine, _): engine.waitingLoads
            }
        }

        var sites: (any SiteRules)? {
            if case .secure(let engine) = self { engine.sites } else { nil }
        }
    }

    public let configuration: SessionConfiguration
    /// Answers the challenges of loads that have no delegate of their own. Kept as long as the session.
    public let delegate: (any SessionDelegate)?
    let kind: Kind
    /// Names the session in the keys of its connections.
    let tag: String
    /// The generation in which the session was made; nil where switching off does not invalidate it.
    private let generation: Int?
    private let isInvalidated = Atomic(false)
    let chain: LoadChain
    /// What answers out of the cache must have been had under.
    private let trust: TrustScopes
    /// Streams of bytes to servers, by the same policy and with the same settings as its loads.
    let tunnels: SessionTunnels
    let observer: LoadObserver?
    let logger: Logger

    private static let sessionNumbers = Atomic(0)
    private static let requestNumbers = Atomic(UInt64(0))

    init(
        _ configuration: SessionConfiguration, _ kind: Kind, delegate: (any SessionDelegate)? = nil,
        generation: Int? = nil
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.kind = kind
        self.generation = generation
        trust = TrustScopes(configuration)
        tag = "\(Self.sessionNumbers.add(1, ordering: .relaxed).newValue)"
        observer = LoadObserver.bootstrapped()
        let settings = ConnectionSettings(configuration, tag: tag, kind)
        var waiter = ConnectivityWaiter(configuration, tag: tag, kind)
        var own: [any LoadStage] = []
        switch kind {
        case .secure(let engine):
            logger = engine.logger
            waiter.infrastructure = engine.infrastructure
            own = engine.stages(configuration)
        case .system:
            logger = Logger(label: "sallyport.system")
        }
        // The whole list, from the top down.
        chain = LoadChain(
            [RedirectStage(configuration, sites: kind.sites), DecodingStage()] + own
                + [ConnectorStage(connector: kind.connector, settings: settings, waiter: waiter)])
        tunnels = SessionTunnels(
            connector: kind.connector, settings: settings, answerTimeout: configuration.resourceTimeout,
            logger: logger)
    }

    deinit {
        kind.connector.decisions.forget(.session(tag))
        kind.connector.client.closeConnections { [tag] in $0.partition.scope == .session(tag) }
    }

    /// Ends the session: loads in flight end with `sessionInvalidated`, and so does every later one.
    ///
    /// ``shared`` cannot be invalidated; the call has no effect on it.
    public func invalidate() {
        guard case .secure(let engine) = kind, generation != nil else { return }
        isInvalidated.store(true, ordering: .releasing)
        engine.end(SecureEngine.invalidated()) { [tag] in $0 == tag }
    }
}

// MARK: Before a load

extension SecureSession {
    /// - Throws: why the session takes no request now.
    func admit() throws(LoadError) {
        guard case .secure(let engine) = kind else { return }
        try engine.checkSwitchedOn()
        let isOutdated = generation.map { $0 != engine.currentGeneration } ?? false
        guard isOutdated || isInvalidated.load(ordering: .acquiring) else { return }
        try engine.checkAuthorized()
        throw SecureEngine.invalidated()
    }

    /// The request with the session's fields, where it has none of the name.
    func prepared(_ request: LoadRequest) -> LoadRequest {
        guard !configuration.additionalHeaders.isEmpty else { return request }
        var request = request
        for field in configuration.additionalHeaders
        where !request.headerFields.contains(where: { $0.name == field.name }) {
            request.headerFields.append(field)
        }
        return request
    }

    func context(
        for request: LoadRequest, collectsUpTo limit: ByteCount?, delegate own: (any SessionDelegate)?,
        control: (any TransferControl)? = nil
    ) -> LoadContext {
        let options = request.differing?.options
        let timeout = options?.resourceTimeout ?? configuration.resourceTimeout
        var context = LoadContext(
            requestID: Self.requestNumbers.add(1, ordering: .relaxed).newValue, logger: logger,
            deadline: .now + timeout, idleTimeout: options?.idleTimeout ?? configuration.idleTimeout,
            principal: principal(of: request), collectsUpTo: limit,
            responder: own == nil && delegate == nil
                ? nil : DelegateResponder(session: self, request: request, own: own),
            proxies: configuration.proxies)
        context.recorder = recorder(for: request, context.requestID, delegate: own)
        context.control = control
        context.session = tag
        context.trust = trust
        context.connectionsPerOrigin = configuration.connectionsPerOrigin
        context.methods = MethodPreferences(
            prefersStrongest: configuration.prefersStrongest,
            allowsBasicOverPlainHTTP: options?.allowsBasicOverPlainHTTP ?? configuration.allowsBasicOverPlainHTTP)
        control?.began(until: context.deadline)
        return context
    }

    private func principal(of request: LoadRequest) -> Principal {
        if case .secure(let engine) = kind, let principal = engine.principals.principal(of: request) {
            return principal
        }
        return request.differing?.options.principal ?? configuration.principal
    }

    /// The handlers to ask, in order.
    var entries: [HandlerEntry] {
        let registered: [HandlerEntry] =
            switch kind {
            case .secure(let engine): engine.registry.secureEntries
            case .system(_, let registry): registry?.systemEntries ?? [.systemHTTP]
            }
        guard !configuration.protocolClasses.isEmpty || !configuration.handlers.isEmpty else { return registered }
        return configuration.handlers.map(HandlerEntry.plugin) + configuration.protocolClasses.map(HandlerEntry.init)
            + registered
    }

    var handlerLoads: HandlerLoads {
        switch kind {
        case .secure(let engine): engine.handlerLoads
        case .system(let engine, _): engine.handlerLoads
        }
    }

    var isSystem: Bool { if case .system = kind { true } else { false } }
}
