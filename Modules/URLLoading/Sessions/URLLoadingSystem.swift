public import Logging
public import SallyportBase
public import SallyportConnecting
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport

/// The stages that other modules add to a session with this configuration.
public typealias SessionStages = @Sendable (SessionConfiguration) -> [any LoadStage]

/// The URL loading of one instance: its sessions, its handlers, and the switch for secure communication.
///
/// Secure communication is on from the first `authorize()` that succeeds or ends in `withdrawn`; ``disable()`` and
/// ``enable()`` switch it.
/// Withdrawal of the authorization refuses every request with its code, whatever the switch says.
public final class URLLoadingSystem: InstancePart {
    /// The handlers of all sessions of this instance.
    public var protocols: ProtocolRegistry { engine.registry }

    let engine: LoadingEngine
    private let ownsConnector: Bool
    private let current: Lock<SecureSession>
    private let system: SecureSession

    /// - Parameters:
    ///   - gate: says whether and how the app may connect.
    ///   - stages: a session's stages between Decoding and the connector, from the top down.
    ///   - decisions: keeps decisions to trust a server for good; if nil, they last as long as the instance.
    ///   - controlTLSVersions: the versions offered to servers besides TLS 1.2 and 1.3.
    ///   - principalKey: 32 secret bytes by which principals are named after requests' own `Authorization` fields, see
    ///     ``SessionConfiguration/principal``; if nil, the names last as long as the instance.
    ///   - infrastructure: says when a load that waits for a relay is tried again; if nil, it is tried again after
    ///     pauses.
    ///   - sites: says which hosts belong to one `FieldScope.site`, as `PublicSuffixSites` of the module Cookies does;
    ///     if nil, each host is a site of its own.
    ///   - logger: for loads, at `debug` and below; no message has a secret.
    public convenience init(
        gate: any AccessGate, stages: @escaping SessionStages = { _ in [] }, decisions: (any DecisionStore)? = nil,
        controlTLSVersions: ControlTLSVersions = ControlTLSVersions(), principalKey: Redacted<[UInt8]>? = nil,
        infrastructure: (any InfrastructureStatus)? = nil, sites: (any SiteRules)? = nil,
        logger: Logger = Logger(label: "sallyport.loading")
    ) {
        self.init(
            connector: Connector(gate: gate, decisions: decisions, controlTLSVersions: controlTLSVersions),
            ownsConnector: true, stages: stages, principalKey: principalKey, infrastructure: infrastructure,
            sites: sites, logger: logger)
    }

    /// - Parameter client: makes the connections in place of a transport.
    convenience init(
        gate: any AccessGate, stages: @escaping SessionStages = { _ in [] }, decisions: (any DecisionStore)? = nil,
        controlTLSVersions: ControlTLSVersions = ControlTLSVersions(), principalKey: Redacted<[UInt8]>? = nil,
        client: any ExchangeClient, system: LoadingEngine = .process, infrastructure: (any InfrastructureStatus)? = nil,
        sites: (any SiteRules)? = nil, logger: Logger = Logger(label: "sallyport.loading")
    ) {
        let connector = Connector(gate: gate, client: client, decisions: decisions, control: controlTLSVersions)
        self.init(
            connector: connector, ownsConnector: true, stages: stages, principalKey: principalKey, system: system,
            infrastructure: infrastructure, sites: sites, logger: logger)
    }

    /// Sessions that share a connector with other parts of an instance, and ask its gate.
    ///
    /// - Parameters:
    ///   - connector: is shut down by its creator, after the sessions.
    ///   - stages: a session's stages between Decoding and the connector, from the top down.
    ///   - principalKey: 32 secret bytes by which principals are named after requests' own `Authorization` fields, see
    ///     ``SessionConfiguration/principal``; if nil, the names last as long as the instance.
    ///   - infrastructure: says when a load that waits for a relay is tried again; if nil, it is tried again after
    ///     pauses.
    ///   - sites: says which hosts belong to one `FieldScope.site`; if nil, each host is a site of its own.
    ///   - logger: for loads, at `debug` and below; no message has a secret.
    public convenience init(
        connector: Connector, stages: @escaping SessionStages = { _ in [] }, principalKey: Redacted<[UInt8]>? = nil,
        infrastructure: (any InfrastructureStatus)? = nil, sites: (any SiteRules)? = nil,
        logger: Logger = Logger(label: "sallyport.loading")
    ) {
        self.init(
            connector: connector, ownsConnector: false, stages: stages, principalKey: principalKey,
            infrastructure: infrastructure, sites: sites, logger: logger)
    }

    private init(
        connector: Connector, ownsConnector: Bool, stages: @escaping SessionStages, principalKey: Redacted<[UInt8]>?,
        system: LoadingEngine = .process, infrastructure: (any InfrastructureStatus)?, sites: (any SiteRules)?,
        logger: Logger
    ) {
        self.ownsConnector = ownsConnector
        engine = LoadingEngine(
            gate: connector.gate, connector: connector, stages: stages, principals: PrincipalNames(key: principalKey),
            infrastructure: infrastructure, sites: sites, logger: logger)
        current = Lock(SecureSession(SessionConfiguration(), of: engine))
        self.system = SecureSession(SessionConfiguration(), of: system, registry: engine.registry)
    }

    // MARK: Sessions

    /// The session of this instance, with the default configuration; another one after each ``enable()``.
    public var session: SecureSession { current.withLock { $0 } }

    /// The value of ``SecureSession/shared`` while this is the default instance: ``session`` while secure communication
    /// is enabled; also while authorization is withdrawn, so that loads report that; otherwise the system session.
    public var shared: SecureSession {
        // Asked once: between two answers access could be withdrawn, and a load would leave by the system session.
        do throws(AccessDenied) {
            try engine.gate?.checkAuthorized()
            return engine.isEnabled ? session : system
        } catch {
            return error.reason == .notAuthorized ? system : session
        }
    }

    /// A session of this instance. ``disable()`` invalidates it.
    ///
    /// - Parameters:
    ///   - configuration: copied; later changes to it do not affect the session.
    ///   - delegate: answers the challenges of its loads; kept as long as the session.
    public func makeSession(
        _ configuration: SessionConfiguration = SessionConfiguration(), delegate: (any SessionDelegate)? = nil
    ) -> SecureSession {
        SecureSession(
            configuration, of: engine, delegate: delegate, generation: engine.currentGeneration)
    }

    // MARK: Trust

    /// Revokes the trust in a server's chain that fails verification, in the store and in all sessions; connections
    /// that were made with it serve no further load.
    ///
    /// - Returns: whether there was such a decision.
    /// - Throws: `invalidRequest` if the URL names no server; the error if the store cannot be written.
    @discardableResult
    public func undoPriorTrustDecision(for url: RequestURL) async throws(LoadError) -> Bool {
        guard let endpoint = url.endpoint else {
            throw LoadError(.invalidRequest, "The URL names no server.")
        }
        let wasTrusted = try await engine.connector.forgetTrust(at: endpoint)
        engine.connector.client.closeConnections { path in
            if case .decided(_, isTrusted: true) = path.decision { true } else { false }
        }
        return wasTrusted
    }

    // MARK: The switch

    /// Whether requests use the secure routes: switched on, authorized, and not withdrawn.
    public var isSecureCommunicationEnabled: Bool { engine.isEnabled && isAuthorized }

    /// Registers ``SecureHTTPHandler`` and gives ``session`` a new value. Each `authorize()` that succeeds, or ends
    /// in `withdrawn`, does it too.
    public func enable() {
        engine.enable()
        let session = SecureSession(SessionConfiguration(), of: engine)
        let former = current.withLock { current in
            let former = current
            current = session
            return former
        }
        // Released here, after the lock: its end takes others.
        withExtendedLifetime(former) {}
    }

    /// Deregisters ``SecureHTTPHandler`` and invalidates all sessions except the shared one; ``SecureSession/shared``
    /// becomes the system session. Sockets, tokens and name look-ups are not affected.
    public func disable() { engine.disable(except: session.tag) }

    // MARK: End

    /// Ends all loads with `sessionInvalidated` and frees the connections. Idempotent.
    public func shutdown() async {
        resignAsDefault()
        engine.shutdown()
        if ownsConnector { await engine.connector.shutdown() }
    }

    private var isAuthorized: Bool {
        (try? engine.checkAuthorized()) != nil
    }
}
