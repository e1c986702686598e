public import Configuration
public import Logging
public import SallyportAuthToken
public import SallyportAuthorization
public import SallyportCache
internal import SallyportConnecting
public import SallyportCookies
internal import SallyportCore
public import SallyportDoor
public import SallyportHTTPAuthentication
public import SallyportReachability
public import SallyportSecureStore
public import SallyportSocket
public import SallyportURLLoading

#if Kerberos
public import SallyportKerberos
#endif

/// One authorized app: its store, its authorization, its sessions and its other parts.
///
/// ```swift
/// let sallyport = try await Sallyport.open(
///     store: "/var/lib/report", protectedBy: .systemdCredential("sallyport"),
///     application: .init("com.example.report", version: "1.0.0.0"))
/// try await sallyport.authorize()
/// let answer = try await sallyport.session.data(for: .get("https://reports.corp.example/today"))
/// print(answer.head.status, answer.body.count)
/// ```
///
/// A process may have several, one for each tenant; they share no connection. Run each as a service, so that policy
/// changes, renewals and withdrawals arrive while the app works; see ``run()``.
public final class Sallyport: Sendable {
    /// The authorization's state, events and configuration, and `explain`.
    public let authorization: Authorization
    /// The sessions, the protocol handlers, and the switch for secure communication.
    public let loading: URLLoadingSystem
    /// Byte streams to servers. ``disable()`` does not affect them.
    public let sockets: SocketSystem
    /// The credentials that servers accepted and those that the app set, in memory only. Cleared by a lock and by a
    /// wipe.
    public let credentials: CredentialStorage
    /// The cookies of this instance's sessions, usable while the app is authorized. Sessions choose among jars with
    /// `SessionConfiguration.cookieJar`.
    public var cookies: CookieJar { jars.main }
    #if Kerberos
    /// The Kerberos users of this instance's principals, and their tickets.
    public let kerberos: Kerberos
    #endif
    /// Whether the gateway is reachable, while ``run()`` runs.
    public let reachability: Reachability
    /// Looks up names in the enterprise's DNS.
    public let names: Names
    /// Finds out why a connection fails.
    public let diagnostics: Diagnostics
    /// The proxy through which other programs of the machine use this app's connections; nil if `open` was given no
    /// settings for one. ``authorize()`` opens it.
    public let door: Door?
    /// Tokens by which app servers recognise the app's user, while the app is authorized.
    public let authTokens: AuthTokens
    /// The app's data, readable and writable while the app is authorized.
    public let store: GatedStore

    private let logger: Logger
    private let data: SecureStore
    private let jars: CookieJars
    private let sharedCache: SharedCache
    /// All parts that a withdrawal clears or that must be shut down.
    private let parts: InstanceParts

    /// Opens a store and creates the parts that use it.
    ///
    /// Makes no connection. The first instance of a process becomes the default one; see ``makeDefault()``.
    ///
    /// - Parameters:
    ///   - path: the store's directory, of mode 0700; only one process may write to it.
    ///   - protector: supplies the secret that wraps the store's keys.
    ///   - application: the app's entitlement and version; if nil, those for which the store was activated.
    ///   - configuration: the app's settings, of which `ControlTLSVersions` is read here.
    ///   - stages: the app's own stages for each session, from the top down. They stand above the SDK's stages for
    ///     challenges, cookies and caching, and below those for redirects and decoding: each request of a redirect
    ///     chain passes them before credentials and cookies are added, and what they change in an answer is not cached.
    ///   - schemes: schemes that answer servers' challenges besides Negotiate, NTLM, Digest and Basic; a scheme with
    ///     the same method replaces the SDK's. The administrator allows and forbids the SDK's schemes by name, but not
    ///     these.
    ///   - door: the settings of a proxy for other programs of the machine, open from ``authorize()`` on; nil for none.
    ///   - logger: for all parts of the instance; no message has a secret.
    /// - Throws: `StoreError`; `AuthorizationError` with the code `wrongApplication` if the store was activated for
    ///   another app; `LoadError` with the code `invalidConfiguration`.
    public static func open(
        store path: String, protectedBy protector: some KeyProtector, application: ApplicationIdentity? = nil,
        configuration: ConfigReader? = nil, stages: @escaping SessionStages = { _ in [] },
        schemes: [any AuthenticationScheme] = [], door: DoorConfiguration? = nil,
        logger: Logger = Logger(label: "sallyport")
    ) async throws -> Sallyport {
        let versions = try configuration.map { try ControlTLSVersions(reading: $0) } ?? ControlTLSVersions()
        if let configuration { IgnoredSettings.report(configuration, to: logger) }
        let data = try await SecureStore.open(at: path, protectedBy: protector)
        do {
            let authorization = try Authorization.open(store: data, application: application, logger: logger)
            return Sallyport(
                data, authorization, versions, OwnStages(stages: stages, schemes: schemes), door, logger: logger)
        } catch {
            data.close()
            throw error
        }
    }

    /// From the bottom up: each part receives the parts that it uses. Docs/Composition.md shows how an app can do the
    /// same.
    private init(
        _ data: SecureStore, _ authorization: Authorization, _ versions: ControlTLSVersions, _ own: OwnStages,
        _ door: DoorConfiguration?, logger: Logger
    ) {
        (self.data, self.authorization, self.logger) = (data, authorization, logger)
        store = GatedStore(data, gate: authorization)
        let connector = Connector(gate: authorization, decisions: authorization, controlTLSVersions: versions)
        jars = CookieJars(in: data, gate: authorization, logger: logger)
        sharedCache = SharedCache(SecureCache(store: data, gate: authorization))
        #if Kerberos
        kerberos = Self.kerberos(in: data, authorization, connector, logger)
        let tickets = Tickets(parts: [kerberos], followers: [kerberos], schemes: [NegotiateScheme(kerberos)])
        #else
        let tickets = Tickets(parts: [], followers: [], schemes: [])
        #endif
        credentials = CredentialStorage(in: data, followedBy: tickets.followers + [sharedCache.original, jars])
        reachability = Reachability(authorization, retiring: connector, logger: logger)
        names = Names(authorization)
        diagnostics = Diagnostics(authorization, through: connector, reachability: reachability)
        authTokens = AuthTokens(in: data, authorization: authorization)
        sockets = SocketSystem(connector: connector, logger: logger)
        self.door = door.map { Door(through: connector, $0, logger: logger) }
        let stages = InstanceStages(
            own: own, further: tickets.schemes, credentials: credentials, jars: jars, cache: sharedCache,
            gate: authorization)
        loading = URLLoadingSystem(
            connector: connector, stages: { stages.stages(of: $0) },
            principalKey: try? data.secret(for: "principals"), infrastructure: reachability,
            sites: PublicSuffixSites(), logger: logger)
        parts = InstanceParts(
            of: authorization,
            [reachability, authTokens, names, loading, sockets] + Self.list(self.door)
                + [connector, sharedCache.original, credentials] + tickets.parts + [jars])
        loading.makeDefaultIfFirst()
    }

    private static func list(_ door: Door?) -> [any InstancePart] { door.map { [$0] } ?? [] }

    // MARK: Cookies

    /// The jar with this name, the same object each time; it is created with its first cookie. Names of the same bytes
    /// in UTF-8 are one jar.
    ///
    /// - Throws: `invalidName` for a name that is empty or has more than `CookieJar.maximumNameLength` bytes.
    public func cookies(named name: String) async throws(CookieError) -> CookieJar {
        try await jars.jar(named: name)
    }

    // MARK: Authorization

    /// Authorizes the app, enables secure communication, and opens the door if there is one. The app must have been
    /// activated, with `sallyport activate LINK` or `authorization.activate(link:)`.
    ///
    /// Fetches the configuration if the gateway, or another one of its fleet, answers within 5 s; otherwise the stored
    /// one is used, within the lease. Cancelling the task ends the waiting with `cancelled`: the stored configuration is
    /// not used then, nothing is enabled and no door is opened.
    ///
    /// If access is withdrawn and the store is not wiped, both happen all the same: what comes is refused until
    /// ``run()`` hears that the withdrawal was lifted, and served from then on.
    ///
    /// - Throws: `AuthorizationError`, with its result code; `DoorError` if the door cannot be opened, but not in place
    ///   of `withdrawn`: the log has it then.
    public func authorize() async throws {
        do throws(AuthorizationError) {
            try await authorization.authorize()
        } catch {
            if error.code == .withdrawn { await beginToServeOnceLifted() }
            throw error
        }
        try await beginToServe()
    }

    /// The withdrawal is what the app must hear of, so nothing else is thrown.
    private func beginToServeOnceLifted() async {
        if case .wiped = authorization.state { return }
        do { try await beginToServe() } catch {
            logger.error("the door cannot be opened", metadata: ["error": "\(error)"])
        }
    }

    /// Grants nothing: each load and each connection of the door asks the gate.
    private func beginToServe() async throws {
        loading.enable()
        try await door?.open()
    }

    // MARK: URL loading

    /// The session of this instance. Its tasks throw `notAuthorized`, `withdrawn` or `disabled` while it may not load.
    public var session: SecureSession { loading.session }

    /// Creates a session of this instance with its own settings.
    ///
    /// - Parameters:
    ///   - configuration: copied; later changes to it do not affect the session.
    ///   - delegate: answers the challenges of its loads; retained as long as the session.
    public func makeSession(
        _ configuration: SessionConfiguration = SessionConfiguration(), delegate: (any SessionDelegate)? = nil
    ) -> SecureSession {
        loading.makeSession(configuration, delegate: delegate)
    }

    /// The protocol handlers of all sessions of this instance.
    public var protocols: ProtocolRegistry { loading.protocols }

    /// Switches secure communication on again after ``disable()``.
    public func enable() { loading.enable() }

    /// Switches secure communication off, for URL loading only.
    public func disable() { loading.disable() }

    /// Whether requests use the secure routes: switched on, authorized, and not withdrawn.
    public var isSecureCommunicationEnabled: Bool { loading.isSecureCommunicationEnabled }

    /// Makes this the instance behind the process-wide shared objects, such as `SecureSession.shared`.
    public func makeDefault() { loading.makeDefault() }

    /// The cache of all sessions of this instance.
    ///
    /// Setting nil, or any other object, switches caching off until the original cache is set again. Stored entries
    /// stay meanwhile.
    public var cache: SecureCache? {
        get { sharedCache.current }
        set { sharedCache.current = newValue }
    }

    // MARK: End

    /// Ends all loads, frees the connections and closes the store. Idempotent; nothing can be loaded afterwards.
    public func shutdown() async {
        await parts.shutdown()
        data.close()
    }
}
