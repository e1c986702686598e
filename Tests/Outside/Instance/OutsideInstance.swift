import Configuration
import OutsideChecks
import SallyportAuthToken
import SallyportAuthorization
import SallyportBase
import SallyportCache
import SallyportConnecting
import SallyportCookies
import SallyportCore
import SallyportHTTPAuthentication
import SallyportKerberos
import SallyportLoading
import SallyportReachability
import SallyportSecureStore
import SallyportSocket
import SallyportURLLoading

/// All parts, as `Sallyport.open` composes them: where an app wants most of the front door, and one part another way, it
/// begins with this.
struct Instance {
    let authorization: Authorization
    let store: GatedStore
    let loading: URLLoadingSystem
    /// The cache of all sessions, with the switch behind `Sallyport.cache`.
    let cache: SharedCache
    let sockets: SocketSystem
    let tokens: AuthTokens
    let names: Names
    let reachability: Reachability
    let diagnostics: Diagnostics
    let parts: InstanceParts

    init(in data: SecureStore, configuration: ConfigReader) throws {
        let versions = try ControlTLSVersions(reading: configuration)
        IgnoredSettings.report(configuration)
        let authorization = try Authorization.open(store: data)
        let connector = Connector(gate: authorization, decisions: authorization, controlTLSVersions: versions)
        let kerberos = Kerberos(in: data, gate: authorization, tunnels: connector.tunnels, names: authorization) {
            authorization.configuration.kdcs(of: $0)
        }
        let jars = CookieJars(in: data, gate: authorization)
        let cache = SharedCache(SecureCache(store: data, gate: authorization))
        let credentials = CredentialStorage(in: data, followedBy: [kerberos, cache.original, jars])
        reachability = Reachability(authorization, retiring: connector)
        loading = URLLoadingSystem(
            connector: connector,
            stages: { configuration in
                let allowsNTLMv1 = configuration.allowsNTLMv1
                let ntlm = NTLMScheme { allowsNTLMv1 && authorization.allows(NTLMScheme.v1) }
                let authentication = AuthenticationStage(
                    credentials: credentials, gate: authorization,
                    schemes: [NegotiateScheme(kerberos), ntlm, DigestScheme(), BasicScheme()])
                let cookies = jars.stages(
                    of: configuration.cookieJar, acceptPolicy: configuration.cookieAcceptPolicy,
                    handlesCookies: configuration.handlesCookies)
                let caching = CacheStage(
                    cache, gate: authorization, policy: configuration.cachePolicy, isOn: configuration.usesCache)
                return [authentication] + cookies + [caching]
            },
            // A principal that is named after a request's own `Authorization` keeps its name, and with it what is
            // stored for it, after a restart, and when an app changes from the front door to this.
            principalKey: try data.secret(for: "principals"), infrastructure: reachability,
            sites: PublicSuffixSites())
        sockets = SocketSystem(connector: connector)
        tokens = AuthTokens(in: data, authorization: authorization)
        names = Names(authorization)
        diagnostics = Diagnostics(authorization, through: connector, reachability: reachability)
        store = GatedStore(data, gate: authorization)
        // What uses another part stands before it.
        parts = InstanceParts(
            of: authorization,
            [reachability, tokens, names, loading, sockets, connector, cache.original, credentials, kerberos, jars])
        self.authorization = authorization
        self.cache = cache
        loading.makeDefaultIfFirst()
    }

    /// The background work, beside the app's own.
    func run() async {
        async let looking: Void = reachability.run()
        await authorization.run()
        await looking
    }
}

///     OutsideInstance DIRECTORY LINK URL
@main
struct OutsideInstance {
    private static let usage = "OutsideInstance DIRECTORY LINK URL"

    static func main() async throws {
        let (directory, link, url) = (argument(1, usage), argument(2, usage), argument(3, usage))
        let data = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let settings = ConfigReader(provider: EnvironmentVariablesProvider())
        let instance = try Instance(in: data, configuration: settings)
        async let running: Void = instance.run()
        try await instance.authorization.activate(link: link)

        let response = try await instance.loading.session.bytes(for: .get(url))
        let first = try await response.body.collect(upTo: .kibibytes(1))
        show("a load goes through the relay", response.facts.decision?.route == .relay)
        let again = try await instance.loading.session.bytes(for: .get(url))
        show("the second answer is the cache's", try await again.body.collect(upTo: .kibibytes(1)) == first)
        show("and it says so: \(again.facts.cache?.rawValue ?? "nothing")", again.facts.cache == .hit)
        try await showTheSwitch(instance, url)
        show("data is open", try instance.store.read { _ in true })

        await instance.parts.shutdown()
        await running
        data.close()
    }

    private static func showTheSwitch(_ instance: Instance, _ url: String) async throws {
        func load() async throws -> CacheResult? {
            let response = try await instance.loading.session.bytes(for: .get(url))
            _ = try await response.body.collect(upTo: .kibibytes(1))
            return response.facts.cache
        }
        instance.cache.current = nil
        show("the cache is switched off", try await load() != .hit)
        instance.cache.current = instance.cache.original
        show("and on again, with what it has stored", try await load() == .hit)
    }
}
