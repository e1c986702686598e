package import SallyportCore

/// A gate that a test opens and closes: by default everything is direct.
package final class StubGate: AccessGate {
    private struct State {
        var denied: AccessDenied?
        var observers: [Int: @Sendable (AccessDenied) -> Void] = [:]
        var next = 0
        var table = RoutingTable(default: .direct)
        var relay: RelayAccess?
        var blocked: Set<TLSVersion> = []
        var floor: TLSVersion?
        var forbidden: Set<AuthenticationMethod> = []
    }

    private let state = Lock(State())

    package init(denied: AccessDenied? = nil) { state.withLock { $0.denied = denied } }

    package func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let state = state.withLock { $0 }
        if let denied = state.denied { throw denied }
        let decision = state.table.decide(endpoint)
        if decision.route == .deny { throw AccessDenied(.denied(decision)) }
        let relay = decision.route == .direct ? nil : state.relay
        return ServerAccess(
            decision: decision, relay: relay, blockedTLSVersions: state.blocked, tlsFloor: state.floor)
    }

    package func forbid(_ method: AuthenticationMethod) { state.withLock { _ = $0.forbidden.insert(method) } }

    package func allows(_ method: AuthenticationMethod) -> Bool { state.withLock { !$0.forbidden.contains(method) } }

    package func checkAuthorized() throws(AccessDenied) {
        if let denied = state.withLock({ $0.denied }) { throw denied }
    }

    package func onWithdrawal(_ observer: @escaping @Sendable (AccessDenied) -> Void) -> WithdrawalObservation {
        let (number, denied) = state.withLock { state in
            state.next += 1
            state.observers[state.next] = observer
            return (state.next, state.denied)
        }
        if let denied, denied.reason == .withdrawn { observer(denied) }
        return WithdrawalObservation { [state] in state.withLock { _ = $0.observers.removeValue(forKey: number) } }
    }

    // MARK: The test's side

    package func authorize() { state.withLock { $0.denied = nil } }

    package func withdraw(_ code: ResultCode) {
        let denied = AccessDenied(.withdrawn, code: code)
        let observers = state.withLock { state in
            state.denied = denied
            return Array(state.observers.values)
        }
        for observer in observers { observer(denied) }
    }

    package func route(
        by table: RoutingTable, relay: RelayAccess? = nil, blocking: Set<TLSVersion> = [], floor: TLSVersion? = nil
    ) {
        state.withLock { state in
            state.table = table
            state.relay = relay
            state.blocked = blocking
            state.floor = floor
        }
    }

    package var observers: Int { state.withLock { $0.observers.count } }
}
