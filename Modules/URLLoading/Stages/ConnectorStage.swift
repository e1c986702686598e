internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// The last stage: sends every request through the connector, which asks the policy if there is one.
struct ConnectorStage: LoadStage {
    private let connector: Connector
    private let ways: KnownWays
    private let settings: ConnectionSettings
    private let policy: CachePolicy
    private let waiter: ConnectivityWaiter

    /// - Parameter policy: for requests that do not say. It counts here too, since a session may have no cache.
    init(
        connector: Connector, settings: ConnectionSettings, policy: CachePolicy = .useProtocolCachePolicy,
        waiter: ConnectivityWaiter = ConnectivityWaiter()
    ) {
        self.connector = connector
        self.settings = settings
        self.policy = policy
        self.waiter = waiter
        ways = KnownWays(settings, of: connector)
    }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await send(request, in: context)
    }

    /// Sends a request. The answer is all that is awaited, if nothing is asked or signed before; the code for the rest
    /// is apart, so that this can be a part of its caller.
    @inline(__always)
    func send(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        do throws(LoadError) {
            try ways.checkSession()
            let chosen = policy(of: request)
            try checkMayLeave(under: chosen)
            guard chosen != .reloadIgnoringLocalAndRemoteCacheData else {
                return try await sendPastCaches(request, in: context)
            }
            let known = try connector.known(for: request, in: context, with: ways)
            guard connector.goesStraight(known, in: context, with: ways) else {
                return try await connector.exchange(request, by: known, in: context, with: ways)
            }
            let (order, path) = try connector.straightOrder(for: request, by: known, in: context, with: ways)
            let response: ExchangeResponse
            do throws(LoadError) {
                response = try await connector.client.exchange(consume order, via: path)
            } catch {
                return try await connector.exchange(request, by: known, in: context, with: ways, after: error)
            }
            return try connector.answer(response, to: request, by: known, with: ways)
        } catch {
            return try await sendLater(request, in: context, after: error)
        }
    }

    /// Waits for connectivity, if it was lacking and the request is to wait for it.
    private func sendLater(
        _ request: LoadRequest, in context: LoadContext, after failure: LoadError
    ) async throws(LoadError) -> LoadResponse {
        guard waiter.waits(after: failure, request) else { throw failure }
        let request = request.sent(under: policy(of: request))
        return try await waiter.load(request, in: context, after: failure) { () throws(LoadError) in
            try ways.checkSession()
            return try await connector.exchange(request, in: context, with: ways)
        }
    }

    func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        connector.explain(request, in: context, with: settings, into: &explanation)
    }

    /// Apart from ``send(_:in:)``, whose frame each request has.
    @inline(never)
    private func sendPastCaches(
        _ request: LoadRequest, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        try await connector.exchange(
            request.sent(under: .reloadIgnoringLocalAndRemoteCacheData), in: context, with: ways)
    }

    private func policy(of request: LoadRequest) -> CachePolicy { request.differing?.options.cachePolicy ?? policy }

    /// A request that only the cache may answer is not sent, even if the session has no cache.
    private func checkMayLeave(under policy: CachePolicy) throws(LoadError) {
        guard policy != .returnCacheDataDontLoad else {
            throw LoadError(.notInCache, at: .routing, "Only the cache may answer the request.")
        }
    }
}
