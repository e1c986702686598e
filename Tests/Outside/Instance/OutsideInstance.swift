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
    let sockets: SocketSystem
    let tokens: AuthTokens
    let names: Names
    let reachability: Reachability
    let diagnostics: Diagnostics
    let parts: InstanceParts

    init(in data: SecureStore) throws {
        let authorization = try Authorization.open(store: data)
        let connector = Connector(gate: authorization, decisions: authorization)
        let kerberos = Kerberos(in: data, gate: authorization, tunnels: connector.tunnels, names: authorization) {
            authorization.configuration.kdcs(of: $0)
        }
        let jars = CookieJars(in: data, gate: authorization)
        let cache = SecureCache(store: data, gate: authorization)
        let credentials = CredentialStorage(in: data, followedBy: [kerberos, cache, jars])
        let authentication = AuthenticationStage(
            credentials: credentials, gate: authorization,
            schemes: [NegotiateScheme(kerberos), NTLMScheme(), DigestScheme(), BasicScheme()])
        reachability = Reachability(authorization, retiring: connector)
        loading = URLLoadingSystem(
            connector: connector,
            stages: { configuration in
                let cache = CacheStage(cache: cache, gate: authorization, policy: configuration.cachePolicy)
                return [authentication] + jars.stages(of: configuration.cookieJar)
                    + (configuration.usesCache ? [cache] : [])
            }, infrastructure: reachability, sites: PublicSuffixSites())
        sockets = SocketSystem(connector: connector)
        tokens = AuthTokens(in: data, authorization: authorization)
        names = Names(authorization)
        diagnostics = Diagnostics(authorization, through: connector, reachability: reachability)
        store = GatedStore(data, gate: authorization)
        // What uses another part stands before it.
        parts = InstanceParts(
            of: authorization,
            [reachability, tokens, names, loading, sockets, connector, cache, credentials, kerberos, jars])
        self.authorization = authorization
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
        let instance = try Instance(in: data)
        async let running: Void = instance.run()
        try await instance.authorization.activate(link: link)

        let response = try await instance.loading.session.bytes(for: .get(url))
        let first = try await response.body.collect(upTo: .kibibytes(1))
        show("a load goes through the relay", response.facts.decision?.route == .relay)
        let again = try await instance.loading.session.bytes(for: .get(url))
        show("the second answer is the cache's", try await again.body.collect(upTo: .kibibytes(1)) == first)
        show("and it says so: \(again.facts.cache?.rawValue ?? "nothing")", again.facts.cache == .hit)
        show("data is open", try instance.store.read { _ in true })

        await instance.parts.shutdown()
        await running
        data.close()
    }
}
