import SallyportBase
import SallyportCore

/// Opens every way, and allows what a test says.
final class SchemeGate: AccessGate {
    private let allowed: Lock<Set<String>>

    init(_ allowed: Set<String>) { self.allowed = Lock(allowed) }

    func allow(_ schemes: Set<String>) { allowed.withLock { $0 = schemes } }

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
    }

    func checkAuthorized() throws(AccessDenied) {}

    func allows(_ method: AuthenticationMethod) -> Bool { allowed.withLock { $0.contains(method.name) } }

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
