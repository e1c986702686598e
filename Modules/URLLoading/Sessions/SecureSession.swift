internal import HTTPTypes
internal import Logging
internal import SallyportBase
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
        let settings = Self.settings(configuration, kind, tag)
        switch kind {
        case .secure(let engine):
            logger = engine.logger
            let redirects = RedirectStage(configuration, sites: engine.sites)
            let routing = RoutingStage(
                gate: engine.gate, client: engine.client, settings: settings,
                waiter: ConnectivityWaiter(configuration, tag: tag, engine.waitingLoads, engine.infrastructure))
            chain = LoadChain([redirects, DecodingStage()] + engine.stages(configuration) + [routing])
            tunnels = SessionTunnels(routing: routing, client: engine.client, settings: settings)
        case .system(let engine, _):
            logger = Logger(label: "sallyport.system")
            let redirects = RedirectStage(configuration, sites: nil)
            let direct = DirectStage(
                client: engine.client, settings: settings,
                waiter: ConnectivityWaiter(configuration, tag: tag, engine.waitingLoads, nil))
            chain = LoadChain([redirects, DecodingStage(), direct])
            tunnels = SessionTunnels(routing: nil, client: engine.client, settings: settings)
        }
    }

    private static func settings(_ configuration: SessionConfiguration, _ kind: Kind, _ tag: String) -> ExchangeSettings
    {
        var settings = ExchangeSettings(
            trust: configuration.trust.anchors, pins: configuration.pins,
            revocation: configuration.revocation.rules, identities: configuration.clientIdentities,
            connectTimeout: configuration.connectTimeout, connectionsPerOrigin: configuration.connectionsPerOrigin,
            tag: tag, principal: configuration.principal)
        settings.versions.minimum = configuration.minimumTLSVersion
        settings.versions.maximum = configuration.maximumTLSVersion
        settings.proxies = configuration.proxies
        settings.allowsBasicOverPlainHTTP = configuration.allowsBasicOverPlainHTTP
        switch kind {
        case .secure(let engine):
            settings.versions.control = engine.controlTLSVersions
            settings.decisions = engine.decisions
        case .system(let engine, _):
            settings.decisions = engine.decisions
        }
        return settings
    }

    deinit {
        decisions.forgetSession(tag)
        closeConnections()
    }

    private var decisions: ConnectionDecisions {
        switch kind {
        case .secure(let engine): engine.decisions
        case .system(let engine, _): engine.decisions
        }
    }

    /// Ends the session: loads in flight end with `sessionInvalidated`, and so does every later one.
    ///
    /// ``shared`` cannot be invalidated; the call has no effect on it.
    public func invalidate() {
        guard case .secure(let engine) = kind, generation != nil else { return }
        isInvalidated.store(true, ordering: .releasing)
        engine.end(SecureEngine.invalidated()) { [tag] in ExchangeSettings.isOf(tag, $0) }
    }

    private func closeConnections() {
        let client: any ExchangeClient =
            switch kind {
            case .secure(let engine): engine.client
            case .system(let engine, _): engine.client
            }
        client.closeConnections { [tag] in ExchangeSettings.isOf(tag, $0.partition) }
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
