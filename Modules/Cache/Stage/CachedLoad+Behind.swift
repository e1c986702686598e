internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

extension CachedLoad {
    /// Asks the server about an entry that has answered already (RFC 5861 §3), in a task that nobody waits for.
    func validateBehind(_ stored: StoredAnswer) {
        let behind = CachedLoad(request, in: LoadContext(behind: context), next: next, at: place)
        cache.goOnBehind(key) { await behind.validate(stored) }
    }

    private func validate(_ stored: StoredAnswer) async {
        do throws(LoadError) {
            switch try await askServer(about: stored, lead: nil) {
            case .holds: cache.count(.revalidated)
            case .other(let response):
                while try await response.body.next() != nil {}
            }
        } catch {
            context.logger.debug(
                "A stale answer could not be validated.",
                metadata: ["request": "\(context.requestID)", "failure": "\(error.shortDescription)"])
        }
    }
}

extension SecureCache {
    /// What is asked of servers behind answers that were given already, at once (RFC 5861 §3). One more is not asked, and the
    /// next use of its entry asks.
    static let limitBehind = 16
    /// The longest that one takes.
    static let timeBehind = Duration.seconds(60)

    /// Runs `body`, once for each key at a time, in a task that is not awaited.
    fileprivate func goOnBehind(_ key: RequestKey, _ body: @escaping @Sendable () async -> Void) {
        guard state.withLock({ $0.behind.insert(key).inserted }) else { return }
        let hasBegun = revalidations.begin(atMost: Self.limitBehind) { [weak self] in
            await body()
            self?.isOverBehind(key)
        }
        if !hasBegun { isOverBehind(key) }
    }

    private func isOverBehind(_ key: RequestKey) { state.withLock { _ = $0.behind.remove(key) } }
}

extension LoadContext {
    /// For what goes on after the load: nobody answers questions, follows it or waits.
    fileprivate init(behind context: LoadContext) {
        self.init(
            requestID: context.requestID, logger: context.logger, deadline: .now + SecureCache.timeBehind,
            idleTimeout: context.idleTimeout, principal: context.principal, collectsUpTo: .megabytes(1),
            proxies: context.proxies)
        signer = context.signer
        connection = context.connection
        trust = context.trust
    }
}
