internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

extension CachedLoad {
    /// Asks the server about an entry that was already used as an answer (RFC 5861 §3), in a background task.
    func validateBehind(_ stored: StoredAnswer) {
        let behind = CachedLoad(request, in: LoadContext(behind: context), next: next, at: place)
        cache.goOnBehind(key) { await behind.validate(stored) }
    }

    private func validate(_ stored: StoredAnswer) async {
        do throws(LoadError) {
            switch try await askServer(about: stored, onError: true, lead: nil) {
            case .holds(_, let sent):
                cache.count(.revalidated)
                await tellAbove(sent)
            case .failed(let response), .other(let response):
                await tellAbove(response.fieldsSentNow)
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
    /// The most revalidations that run in the background at once (RFC 5861 §3). Beyond that, the entry's next use asks
    /// the server.
    static let limitBehind = 16
    /// The time limit of one revalidation.
    static let timeBehind = Duration.seconds(60)

    /// Runs `body` in a background task, once for each key at a time.
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
    /// The context for work after the load: without a delegate and without observers.
    fileprivate init(behind context: LoadContext) {
        self.init(
            requestID: context.requestID, logger: context.logger, deadline: .now + SecureCache.timeBehind,
            idleTimeout: context.idleTimeout, principal: context.principal, collectsUpTo: .mebibytes(1),
            proxies: context.proxies)
        signer = context.signer
        connection = context.connection
        trust = context.trust
    }
}
