internal import Logging
public import SallyportCore

/// Permanent trust decisions are stored in the reserved name space of the app's store, and can be read and written
/// while the store can: not while authorization is withdrawn.
extension Authorization: DecisionStore {
    /// The chain that is trusted for the server although its verification fails. Nil if there is none, while the app is
    /// not authorized, and if the store cannot be read, which is logged.
    public nonisolated func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint? {
        guard isOpen else { return nil }
        do {
            return try records.trustedChain(at: endpoint).flatMap { ChainFingerprint(sha256: $0) }
        } catch {
            logger.warning("A decision on trust cannot be read.", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Stores the decision to trust a server's chain, in place of an earlier one. Durable on return.
    ///
    /// - Throws: `notAuthorized` or `withdrawn` while the app is not authorized; `fileSystem`, with the store's error
    ///   as the underlying one, if it cannot be written.
    public nonisolated func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError) {
        _ = try await set(chain.sha256, at: endpoint)
    }

    /// Revokes the decision on a server's chain.
    ///
    /// - Returns: whether there was one.
    /// - Throws: as ``trust(_:at:)``.
    @discardableResult
    public nonisolated func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool {
        try await set(nil, at: endpoint)
    }

    private nonisolated func set(_ fingerprint: [UInt8]?, at endpoint: Endpoint) async throws(LoadError) -> Bool {
        do throws(AccessDenied) {
            try checkAuthorized()
        } catch {
            throw LoadError(error)
        }
        do {
            return try await records.setTrustedChain(fingerprint, at: endpoint)
        } catch {
            throw LoadError(.fileSystem, "The decision on trust cannot be kept.", underlying: error)
        }
    }

    private nonisolated var isOpen: Bool {
        do throws(AccessDenied) {
            try checkAuthorized()
            return true
        } catch {
            return false
        }
    }
}
