internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

extension CachedLoad {
    /// Asks the server about an entry that has answered already (RFC 5861 §3), in a task that nobody waits for.
    func validateBehind(_ stored: StoredAnswer) {
        let behind = CachedLoad(request, in: LoadContext(behind: context), next: next, at: place)
        cache.revalidations.start(key) { await behind.validate(stored) }
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

extension LoadContext {
    /// For what goes on after the load: nobody answers questions, follows it or waits.
    fileprivate init(behind context: LoadContext) {
        self.init(
            requestID: context.requestID, logger: context.logger, deadline: .now + Revalidations.time,
            idleTimeout: context.idleTimeout, principal: context.principal, collectsUpTo: .megabytes(1),
            proxies: context.proxies)
        signer = context.signer
        connection = context.connection
        trust = context.trust
    }
}
