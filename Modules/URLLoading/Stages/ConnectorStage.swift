internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading

/// The last stage: sends every request through the connector, which asks the policy if there is one.
struct ConnectorStage: LoadStage {
    private let connector: Connector
    private let ways: KnownWays
    private let settings: ConnectionSettings
    private let waiter: ConnectivityWaiter

    init(connector: Connector, settings: ConnectionSettings, waiter: ConnectivityWaiter = ConnectivityWaiter()) {
        self.connector = connector
        self.settings = settings
        self.waiter = waiter
        ways = KnownWays(settings, of: connector)
    }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try checkMayLeave(request)
        do throws(LoadError) {
            return try await connector.exchange(request, in: context, with: ways)
        } catch {
            guard waiter.waits(after: error, request) else { throw error }
            return try await waiter.load(request, in: context, after: error) { () throws(LoadError) in
                try await connector.exchange(request, in: context, with: ways)
            }
        }
    }

    func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        connector.explain(request, in: context, with: settings, into: &explanation)
    }

    /// A request that only the cache may answer is not sent, even if the session has no cache.
    private func checkMayLeave(_ request: LoadRequest) throws(LoadError) {
        guard request.differing?.options.cachePolicy != .returnCacheDataDontLoad else {
            throw LoadError(.notInCache, at: .routing, "Only the cache may answer the request.")
        }
    }
}
