public import Configuration
public import Logging
public import SallyportAuthToken
public import SallyportAuthorization
public import SallyportCache
internal import SallyportConnecting
public import SallyportCookies
internal import SallyportCore
public import SallyportHTTPAuthentication
public import SallyportReachability
public import SallyportSecureStore
public import SallyportSocket
public import SallyportURLLoading

#if Kerberos
public import SallyportKerberos
#endif

/// One authorized app: its store, its authorization and its sessions.
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
/// Several live in one process, one for each tenant; they share no connection. Run each as a service, so that policy
/// changes, renewal and withdrawal arrive while the app works; see ``run()``.
public final class Sallyport: Sendable {
    /// States, events, the configuration, and `explain`.
    public let authorization: Authorization
    /// The sessions, the protocol handlers, and the switch for secure communication.
    public let loading: URLLoadingSystem
    /// Streams of bytes to servers. ``disable()`` does not touch them.
    public let sockets: SocketSystem
    /// What servers accepted, and what the app set for them, in memory only. Forgotten at a lock and a wipe.
    public let credentials: CredentialStorage
    /// The cookies of this instance's sessions, usable while the app is authorized. Sessions choose among jars with
    /// `SessionConfiguration.cookieJar`.
    public var cookies: CookieJar { jars.main }
    #if Kerberos
    /// Who the principals of this instance's sessions are by Kerberos, and their tickets.
    public let kerberos: Kerberos
    #endif
    /// Whether the gateway is within reach, while ``run()`` runs.
    public let reachability: Reachability
    /// Looks names up from inside.
    public let names: Names
    /// Finds out what is in the way.
    public let diagnostics: Diagnostics
    /// Tokens that tell app servers who uses the app, while it is authorized.
    public let authTokens: AuthTokens
    /// The app's data, readable and writable while the app is authorized.
    public let store: GatedStore

    private let data: SecureStore
    private let jars: CookieJars
    private let sharedCache: SharedCache
    /// All of the above that a withdrawal takes something from, or that is ended.
    private let parts: InstanceParts

    /// Opens a store, and composes the parts over it.
    ///
    /// Makes no connection. The first instance of a process is the default one; see ``makeDefault()``.
    ///
    /// - Parameters:
    ///   - path: the store's directory, of mode 0700; one process writes it.
    ///   - protector: where the secret comes from that the store's keys are wrapped with.
    ///   - application: the app's entitlement and version; what the store was activated for where nil.
    ///   - configuration: the app's settings; `ControlTLSVersions` is read here, see `ControlTLSVersions`.
    ///   - stages: the app's own, for each session, from the top down. They stand above ours, which answer challenges and keep
    ///     cookies and answers, and below redirects and decoding: each hop of a redirect passes them, before credentials and
    ///     cookies are put into the request, and what they make of an answer no cache keeps.
    ///   - schemes: what answers challenges of servers besides Negotiate, NTLM, Digest and Basic; one of the same method
    ///     takes the place of ours. The administrator allows and forbids ours by their names, and no others.
    /// - Throws: `StoreError`; `AuthorizationError` with the code `wrongApplication` where the store was activated for
    ///   another app; `LoadError` with the code `invalidConfiguration`.
    public static func open(
        store path: String, protectedBy protector: some KeyProtector, application: ApplicationIdentity? = nil,
        configuration: ConfigReader? = nil, stages: @escaping SessionStages = { _ in [] },
        schemes: [any AuthenticationScheme] = [], logger: Logger = Logger(label: "sallyport")
    ) async throws -> Sallyport {
        let versions = try configuration.map { try ControlTLSVersions(reading: $0) } ?? ControlTLSVersions()
        if let configuration { IgnoredSettings.tell(configuration, logger) }
        let data = try await SecureStore.open(at: path, protectedBy: protector)
        do {
            let authorization = try Authorization.open(store: data, application: application, logger: logger)
            return Sallyport(data, authorization, versions, OwnStages(stages: stages, schemes: schemes), logger: logger)
        } catch {
            data.close()
            throw error
        }
    }

    /// From the bottom up: each part is given those that it uses. Docs/Composition.md says how an app does the same.
    private init(
        _ data: SecureStore, _ authorization: Authorization, _ versions: ControlTLSVersions, _ own: OwnStages,
        logger: Logger
    ) {
        (self.data, self.authorization) = (data, authorization)
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
        credentials = CredentialStorage(followedBy: tickets.followers + [sharedCache.original, jars])
        reachability = Reachability(authorization, retiring: connector, logger: logger)
        names = Names(authorization)
        diagnostics = Diagnostics(authorization, through: connector, reachability: reachability)
        authTokens = AuthTokens(in: data, authorization: authorization)
        sockets = SocketSystem(connector: connector, logger: logger)
        let stages = InstanceStages(
            own: own, further: tickets.schemes, credentials: credentials, jars: jars, cache: sharedCache,
            gate: authorization)
        loading = URLLoadingSystem(
            connector: connector, stages: { stages.stages(of: $0) }, principalKey: data.secret(for: "principals"),
            infrastructure: reachability, sites: PublicSuffixSites(), logger: logger)
        parts = InstanceParts(
            of: authorization,
            [reachability, authTokens, names, loading, sockets, connector, sharedCache.original, credentials]
                + tickets.parts + [jars])
        loading.makeDefaultIfFirst()
    }

    // MARK: Cookies

    /// The jar of a name, the same each time; made with its first cookie.
    ///
    /// - Throws: `invalidName` for a name that is empty or has more than `CookieJar.maximumNameLength` bytes.
    public func cookies(named name: String) async throws(CookieError) -> CookieJar {
        try await jars.jar(named: name)
    }

    // MARK: Authorization

    /// Authorizes the app, which was activated once with `sallyport activate LINK`, and enables secure communication.
    ///
    /// Fetches the configuration where the gateway answers within 5 s; the stored one counts otherwise, within the
    /// lease.
    ///
    /// - Throws: `AuthorizationError`, with the documented result code.
    public func authorize() async throws {
        try await authorization.authorize()
        loading.enable()
    }

    // MARK: URL loading

    /// The session of this instance. Throws `notAuthorized`, `withdrawn` or `disabled` from its tasks while it may not
    /// load.
    public var session: SecureSession { loading.session }

    /// A session of this instance with settings of its own.
    ///
    /// - Parameter delegate: answers the challenges of its loads; kept as long as the session.
    public func makeSession(
        _ configuration: SessionConfiguration = SessionConfiguration(), delegate: (any SessionDelegate)? = nil
    ) -> SecureSession {
        loading.makeSession(configuration, delegate: delegate)
    }

    /// The protocol handlers of all sessions of this instance.
    public var protocols: ProtocolRegistry { loading.protocols }

    /// Switches secure communication on again after ``disable()``.
    public func enable() { loading.enable() }

    /// Switches secure communication off: URL loading only.
    public func disable() { loading.disable() }

    /// Whether requests go the secure way: switched on, authorized, and not withdrawn.
    public var isSecureCommunicationEnabled: Bool { loading.isSecureCommunicationEnabled }

    /// Makes this the instance that the documented singletons, as `SecureSession.shared`, stand for.
    public func makeDefault() { loading.makeDefault() }

    /// The cache of all sessions of this instance: `sharedURLCache` of the documents.
    ///
    /// Nil, and any other object, switch caching off until the one that was there first is put back. What is stored
    /// stays meanwhile.
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
