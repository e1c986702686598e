/// Keeps what an app decided for good: the chains that it trusts though they do not verify. Implemented by
/// Authorization, in the encrypted store.
public protocol DecisionStore: Sendable {
    /// The chain that is trusted at the server; nil where there is none, and where it cannot be read now.
    func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint?

    /// Keeps the chain in place of the one that was trusted there before. Durable on return.
    func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError)

    /// - Returns: whether there was a decision.
    @discardableResult
    func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool
}
