internal import SallyportBase
package import SallyportCore

/// A gate whose rules a test sets; by default every route is direct. It publishes changes through an ``AccessFeed``, as
/// an authorization does.
package final class StubGate: AccessGate {
    private struct Rules: Sendable {
        var table = RoutingTable(default: .direct)
        var relay: RelayAccess?
        var secondary: RelayAccess?
        var blocked: Set<TLSVersion> = []
        var floor: TLSVersion?
    }

    private let feed = AccessFeed<Rules>()
    private let rules = Lock(Rules())
    private let forbidden = Lock<Set<AuthenticationMethod>>([])
    private let closed = Lock<AccessDenied?>(nil)
    private let confirmation = Lock<(@Sendable () async -> Void)?>(nil)

    /// - Parameter denied: why access is denied at first; nil for access at once.
    package init(denied: AccessDenied? = nil) {
        switch denied?.reason {
        case nil: authorize()
        case .notAuthorized?: break
        case .withdrawn?, .denied?: feed.withdraw(denied?.code ?? .blocked)
        }
    }

    private func present() throws(AccessDenied) -> (rules: Rules, revision: UInt64) {
        if let denied = closed.withLock({ $0 }) { throw denied }
        switch feed.present.value {
        case .notAuthorized: throw AccessDenied(.notAuthorized)
        case .withdrawn(let code): throw AccessDenied(.withdrawn, code: code)
        case .open(let rules, let revision): return (rules, revision)
        }
    }

    package func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let (rules, revision) = try present()
        let decision = rules.table.decide(endpoint)
        if decision.route == .deny { throw AccessDenied(.denied(decision)) }
        let relay = decision.route == .direct ? nil : rules.relay
        return ServerAccess(
            decision: decision, relay: relay, secondary: relay == nil ? nil : rules.secondary,
            blockedTLSVersions: rules.blocked, tlsFloor: rules.floor, revision: revision)
    }

    package func completed(_ endpoint: Endpoint) -> Endpoint {
        (try? present().rules.table.completed(endpoint)) ?? endpoint
    }

    package func forbid(_ method: AuthenticationMethod) { forbidden.withLock { _ = $0.insert(method) } }

    package func allow(_ method: AuthenticationMethod) { forbidden.withLock { _ = $0.remove(method) } }

    package func allows(_ method: AuthenticationMethod) -> Bool { forbidden.withLock { !$0.contains(method) } }

    package func checkAuthorized() throws(AccessDenied) { _ = try present() }

    package func rulesRevision() throws(AccessDenied) -> UInt64 { try present().revision }

    package func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        feed.observe(observer)
    }

    package func confirmAccess() async { await confirmation.withLock { $0 }?() }

    // MARK: The test's side

    /// Sets what happens when a relay has broken a connection; nothing by default.
    package func whenAsked(_ confirm: @escaping @Sendable () async -> Void) { confirmation.withLock { $0 = confirm } }

    package func authorize() { feed.open(rules.withLock { $0 }) { _ in false } }

    package func withdraw(_ code: ResultCode) { feed.withdraw(code) }

    /// Denies everything from now on, and tells no observer; nil ends that.
    package func close(_ denied: AccessDenied?) { closed.withLock { $0 = denied } }

    /// Sets the rules; they are in force at once while the gate is open.
    package func route(
        by table: RoutingTable, relay: RelayAccess? = nil, or secondary: RelayAccess? = nil,
        blocking: Set<TLSVersion> = [], floor: TLSVersion? = nil
    ) {
        rules.withLock {
            $0 = Rules(table: table, relay: relay, secondary: secondary, blocked: blocking, floor: floor)
        }
        if case .open = feed.present.value { authorize() }
    }

    package var observers: Int { feed.observerCount }
}
