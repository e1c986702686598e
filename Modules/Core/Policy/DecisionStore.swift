/// Stores an app's permanent decisions: the chains that it trusts although they fail verification. Implemented by
/// Authorization, in the encrypted store.
public protocol DecisionStore: Sendable {
    /// The chain that is trusted for the server; nil if there is none, and if it cannot be read now.
    func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint?

    /// Stores the chain, and replaces the one that was trusted before. Durable on return.
    func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError)

    /// - Returns: whether there was a decision.
    @discardableResult
    func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool
}
