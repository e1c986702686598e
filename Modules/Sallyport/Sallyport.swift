public import Configuration
public import Logging
public import SallyportAuthToken
public import SallyportAuthorization
public import SallyportCache
internal import SallyportConnecting
public import SallyportCookies
internal import SallyportCore
public import SallyportHTTPAuthentication
internal import SallyportLoading
public import SallyportReachability
public import SallyportSecureStore
public import SallyportSocket
internal import SallyportTransport
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
    /// The one way out, of sessions, sockets and ticket clients.
    private let connector: Connector
    private let jars: CookieJars
    private let sharedCache: SharedCache
    /// Connections to the gateway's control plane: apart from those of the sessions, which a withdrawal ends.
    private let control: Transport
    private let observation: AccessObservation

    /// Opens a store, and composes the parts over it.
    ///
    /// Makes no connection. The first instance of a process is the default one; see ``makeDefault()``.
    ///
    /// - Parameters:
    ///   - path: the store's directory, of mode 0700; one process writes it.
    ///   - protector: where the secret comes from that the store's keys are wrapped with.
    ///   - application: the app's entitlement and version; what the store was activated for where nil.
    ///   - configuration: the app's settings; `ControlTLSVersions` is read here, see `ControlTLSVersions`.
    ///   - schemes: what answers challenges of servers besides Negotiate, NTLM, Digest and Basic; one of the same method
    ///     takes the place of ours. The administrator allows and forbids ours by their names, and no others.
    /// - Throws: `StoreError`; `AuthorizationError` with the code `wrongApplication` where the store was activated for
    ///   another app; `LoadError` with the code `invalidConfiguration`.
    public static func open(
        store path: String, protectedBy protector: some KeyProtector, application: ApplicationIdentity? = nil,
        configuration: ConfigReader? = nil, schemes: [any AuthenticationScheme] = [],
        logger: Logger = Logger(label: "sallyport")
    ) async throws -> Sallyport {
        let versions = try configuration.map { try ControlTLSVersions(reading: $0) } ?? ControlTLSVersions()
        if let configuration { IgnoredSettings.tell(configuration, logger) }
        let data = try await SecureStore.open(at: path, protectedBy: protector)
        do {
            let control = Transport()
            let authorization = try Authorization.open(
                store: data, application: application, transport: control, logger: logger)
            return Sallyport(data, authorization, control, versions, schemes, logger: logger)
        } catch {
            data.close()
            throw error
        }
    }

    private init(
        _ data: SecureStore, _ authorization: Authorization, _ control: Transport, _ versions: ControlTLSVersions,
        _ schemes: [any AuthenticationScheme], logger: Logger
    ) {
        self.data = data
        self.control = control
        self.authorization = authorization
        let jars = CookieJars(in: data, gate: authorization, logger: logger)
        self.jars = jars
        let shared = SharedCache(SecureCache(store: data, gate: authorization))
        sharedCache = shared
        let reachability = Reachability(authorization, logger: logger)
        self.reachability = reachability
        names = Names(authorization)
        let tunnels = LateTunnels()
        #if Kerberos
        let kerberos = Kerberos(
            in: data, gate: authorization, tunnels: tunnels,
            realms: RealmServers(names: authorization) { authorization.configuration.kdcs(of: $0) }, logger: logger)
        self.kerberos = kerberos
        let builtIn: [any AuthenticationScheme] = [NegotiateScheme(kerberos), DigestScheme(), BasicScheme()]
        let clearTickets: @Sendable (AuthenticationMethod?) async -> Void = { await kerberos.clearing($0) }
        let forgetTickets: @Sendable () async -> Void = { await kerberos.forget() }
        #else
        let builtIn: [any AuthenticationScheme] = [DigestScheme(), BasicScheme()]
        let clearTickets: @Sendable (AuthenticationMethod?) async -> Void = { _ in }
        let forgetTickets: @Sendable () async -> Void = {}
        #endif
        let credentials = CredentialStorage(whenClearing: clearTickets) { [cache = shared.original] cleared in
            cache.removeEntries(of: cleared.map { ($0.principal, $0.origin) })
            await jars.credentialsCleared(cleared.compactMap { cleared in Self.host(of: cleared) })
        }
        self.credentials = credentials
        let authentication = AuthenticationStage(
            credentials: credentials, gate: authorization, schemes: schemes + builtIn)
        let hasOwnNTLM = schemes.contains { $0.method == .ntlm }
        let connector = Connector(gate: authorization, decisions: authorization, control: versions)
        self.connector = connector
        loading = URLLoadingSystem(
            connector: connector, gate: authorization,
            stages: { configuration in
                let allowsNTLMv1 = configuration.allowsNTLMv1
                let ntlm = NTLMScheme { [weak authorization] in
                    allowsNTLMv1 && authorization?.allows(NTLMScheme.v1) == true
                }
                let answering = hasOwnNTLM ? authentication : authentication.answering(ntlm)
                return Self.stages(of: configuration, answering, jars) + [
                    CacheStage(
                        shared, gate: authorization, policy: configuration.cachePolicy, isOn: configuration.usesCache)
                ]
            },
            principalKey: data.secret(for: "principals"), infrastructure: reachability, sites: PublicSuffixSites(),
            logger: logger)
        sockets = SocketSystem(connector: connector, gate: authorization, logger: logger)
        tunnels.lead(through: loading.tunnels)
        reachability.whenGivenUp { [weak loading] in loading?.retireConnections() }
        diagnostics = Diagnostics(authorization, through: connector, reachability: reachability) {
            [weak loading, weak sockets, authorization] in
            loading?.resetConnections()
            sockets?.resetConnections()
            authorization.callChannel(drops: true)
            control.endExchanges(with: LoadError(.connectionLost, "All connections were reset.")) { _ in true }
            control.closeConnections { _ in true }
            return true
        }
        observation = authorization.onAccessChange(awaiting: { [cache = shared.original] change in
            guard change.dropsSecrets else { return }
            if change.destroysData { cache.forget() }
            await credentials.forget()
            await forgetTickets()
            await jars.forget(isWiped: change.destroysData)
        })
        authTokens = AuthTokens(in: data, authorization: authorization)
        store = GatedStore(data, gate: authorization)
        loading.makeDefaultIfFirst()
    }

    /// Those between Decoding and Routing, from the top down.
    private static func stages(
        of configuration: SessionConfiguration, _ authentication: AuthenticationStage, _ jars: CookieJars
    ) -> [any LoadStage] {
        [authentication]
            + jars.stages(
                of: configuration.cookieJar, acceptPolicy: configuration.cookieAcceptPolicy,
                handlesCookies: configuration.handlesCookies)
    }

    private static func host(of cleared: CredentialStorage.Cleared) -> (principal: Principal, host: Host)? {
        guard let host = (try? RequestURL(cleared.origin))?.endpoint?.host else { return nil }
        return (cleared.principal, host)
    }

    // MARK: Cookies

    /// The jar of a name, the same each time; made with its first cookie.
    ///
    /// - Throws: `invalidName` for a name that is empty or has more than `CookieJar.maximumNameLength` octets.
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
        authorization.shutdown()
        reachability.shutdown()
        await authTokens.shutdown()
        await names.shutdown()
        await loading.shutdown()
        await sockets.shutdown()
        await connector.shutdown()
        await jars.shutdown()
        await control.shutdown()
        await sharedCache.original.close()
        data.close()
    }
}
