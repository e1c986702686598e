import SallyportAuthorization
import SallyportCore

/// Presents the policy in a store to a connector. It never changes while the program looks at it.
struct StoredGate: AccessGate {
    let policy: StoredPolicy

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess { try policy.access(to: endpoint) }
    func completed(_ endpoint: Endpoint) -> Endpoint { policy.completed(endpoint) }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
