internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// Decides relay, direct or deny before any connection is made, and sends the request that way and no other.
struct RoutingStage: LoadStage {
    let gate: any AccessGate
    let client: any ExchangeClient
    let settings: ExchangeSettings
    var waiter = ConnectivityWaiter()

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await waiter.load(request, in: context) { () throws(LoadError) in try await send(request, in: context) }
    }

    private func send(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        guard let endpoint = request.url.endpoint else { throw Self.unsupported }
        try Self.checkMayLeave(request)
        let way = try way(to: endpoint, isSecure: request.url.isSecure)
        let proxy = context.proxies.proxy(for: request.url)
        guard way.relay == nil || proxy == nil else { throw Self.hasBoth }
        var response = try await settings.exchange(
            request, in: context, by: way.decision, relay: way.relay, proxy: proxy, versions: way.versions,
            with: client)
        do throws(LoadError) {
            try gate.confirm(way, OpenConnection(to: endpoint, through: way.relay?.cluster, tlsVersion: nil))
        } catch {
            response.body.discard()
            throw error
        }
        response.facts.decision = way.decision
        return response
    }

    /// How a server is reached, by the policy of this moment.
    func way(to endpoint: Endpoint, isSecure: Bool) throws(LoadError) -> ServerWay {
        try gate.way(to: endpoint, isSecure: isSecure, offering: settings.versions.allowed(for: endpoint.host))
    }

    /// A request that only the cache may answer goes nowhere, also where the session has none.
    static func checkMayLeave(_ request: LoadRequest) throws(LoadError) {
        guard request.differing?.options.cachePolicy != .returnCacheDataDontLoad else {
            throw LoadError(.notInCache, at: .routing, "Only the cache may answer the request.")
        }
    }

    static var unsupported: LoadError {
        LoadError(.unsupportedScheme, at: .routing, "Only http and https are loaded here.")
    }

    static var hasBoth: LoadError {
        LoadError(
            .proxyWithRelay, at: .routing,
            "The server is reached through a relay, and the session has a proxy for it; make it an exception.")
    }
}

/// Sends every request straight from this machine: the last stage of the system session.
struct DirectStage: LoadStage {
    let client: any ExchangeClient
    let settings: ExchangeSettings
    var waiter = ConnectivityWaiter()

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await waiter.load(request, in: context) { () throws(LoadError) in try await send(request, in: context) }
    }

    private func send(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        guard let endpoint = request.url.endpoint else { throw RoutingStage.unsupported }
        try RoutingStage.checkMayLeave(request)
        let versions = request.url.isSecure ? settings.versions.allowed(for: endpoint.host) : .standard
        guard !versions.isEmpty else {
            throw LoadError(.noCommonTLSVersion, at: .routing, "The session's settings leave no version of TLS.")
        }
        let proxy = context.proxies.proxy(for: request.url)
        return try await settings.exchange(
            try tellingProxy(proxy, request, in: context), in: context, relay: nil, proxy: proxy, versions: versions,
            with: client)
    }

    /// Nobody answers challenges here: a proxy that has a credential is told it at once, by Basic (RFC 7617).
    private func tellingProxy(
        _ proxy: Proxy?, _ request: LoadRequest, in context: LoadContext
    ) throws(LoadError) -> LoadRequest {
        guard let proxy, proxy.kind != .socks5, request.headerFields[.proxyAuthorization] == nil,
            proxy.isEncrypted || context.methods.allowsBasicOverPlainHTTP,
            let credential = request.options.proxyCredential ?? proxy.credential
        else { return request }
        var request = request
        request.headerFields[.proxyAuthorization] = try credential.basicAuthorization().reveal()
        return request
    }
}
