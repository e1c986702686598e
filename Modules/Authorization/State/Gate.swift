internal import SallyportCore
internal import SallyportWire

/// What requests ask: one lock, one value, no waiting.
final class Gate: Sendable {
    /// Where the way goes while the gate is open.
    struct Policy: Sendable {
        let table: RoutingTable
        let clusters: [String: RelayAccess]
        let tls: ConfigurationDocument.TLSRestrictions
        /// In lower case.
        let schemes: Set<String>
        let leaseEnd: Int64
        let mark: TimeMark
    }

    private enum Verdict: Sendable {
        case notAuthorized
        case open(Policy)
        case withdrawn(ResultCode)
    }

    private struct State: Sendable {
        var verdict = Verdict.notAuthorized
        var next = 0
        var observers: [Int: @Sendable (AccessDenied) -> Void] = [:]
    }

    private let state = Lock(State())
    private let clock: any AuthorizationClock

    init(clock: any AuthorizationClock) { self.clock = clock }

    func open(_ policy: Policy) { state.withLock { $0.verdict = .open(policy) } }

    /// Closes the gate and calls every observer, once.
    func withdraw(_ code: ResultCode) {
        let observers = state.withLock { state in
            state.verdict = .withdrawn(code)
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        let denied = AccessDenied(.withdrawn, code: code)
        for observer in observers { observer(denied) }
    }

    /// The policy while open. The lease is looked at here, so that no timer that comes late keeps the gate open.
    func policy() throws(AccessDenied) -> Policy {
        switch state.withLock({ $0.verdict }) {
        case .notAuthorized: throw AccessDenied(.notAuthorized)
        case .withdrawn(let code): throw AccessDenied(.withdrawn, code: code)
        case .open(let policy):
            let time = policy.mark.leaseTime(wall: clock.wall, uptime: clock.uptime)
            guard time < policy.leaseEnd else { throw AccessDenied(.withdrawn, code: .blocked) }
            return policy
        }
    }

    func observe(_ observer: @escaping @Sendable (AccessDenied) -> Void) -> WithdrawalObservation {
        let registered: (id: Int, withdrawn: ResultCode?) = state.withLock { state in
            if case .withdrawn(let code) = state.verdict { return (0, code) }
            state.next += 1
            state.observers[state.next] = observer
            return (state.next, nil)
        }
        if let code = registered.withdrawn {
            observer(AccessDenied(.withdrawn, code: code))
            return WithdrawalObservation {}
        }
        return WithdrawalObservation { [weak self] in
            _ = self?.state.withLock { $0.observers.removeValue(forKey: registered.id) }
        }
    }
}

extension Gate.Policy {
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let decision = table.decide(endpoint)
        switch decision.route {
        case .deny: throw AccessDenied(.denied(decision))
        case .direct: return ServerAccess(decision: decision, relay: nil)
        case .relay(let name):
            // A cluster that the configuration does not have relays nothing; it never becomes a direct route.
            guard let cluster = clusters[name], !cluster.relays.isEmpty else { throw AccessDenied(.denied(decision)) }
            return ServerAccess(
                decision: decision, relay: cluster, blockedTLSVersions: Set(tls.blocked), tlsFloor: tls.floor)
        }
    }
}
