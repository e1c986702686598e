internal import SallyportBase
package import SallyportCore

/// Lets everything through, straight from this machine.
package struct OpenGate: AccessGate {
    package init() {}

    package func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
    }

    package func checkAuthorized() throws(AccessDenied) {}

    package func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

/// Denies every server, and counts how often it was asked.
package final class ClosedGate: AccessGate {
    private let count = Lock(0)

    package init() {}

    package var asked: Int { count.withLock { $0 } }

    package func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        count.withLock { $0 += 1 }
        throw AccessDenied(.denied(RoutingTable(default: .deny).decide(endpoint)))
    }

    package func checkAuthorized() throws(AccessDenied) {}

    package func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
