import SallyportAuthorization
import SallyportCore

/// The policy that a store holds, as a connector asks it; nothing withdraws it while it is looked at.
struct StoredGate: AccessGate {
    let policy: StoredPolicy

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess { try policy.access(to: endpoint) }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
