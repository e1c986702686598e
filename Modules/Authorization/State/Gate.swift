internal import SallyportCore
internal import SallyportWire

/// What requests ask: one lock, one value, no waiting.
final class Gate: Sendable {
    /// Where the way goes while the gate is open.
    struct Policy: Sendable {
        let rules: Rules
        let leaseEnd: Int64
        let mark: TimeMark
    }

    /// The part of a policy that decides on connections. Policies with equal rules differ only in their lease, so a
    /// change between them ends no connection.
    struct Rules: Sendable, Equatable {
        let table: RoutingTable
        let clusters: [String: RelayAccess]
        let tls: ConfigurationDocument.TLSRestrictions
        /// In lower case.
        let schemes: Set<String>

        /// The identity is not compared: a renewed one is used for new connections and ends none.
        static func == (one: Rules, other: Rules) -> Bool {
            one.table == other.table && one.tls == other.tls && one.schemes == other.schemes
                && one.clusters.mapValues(\.relays) == other.clusters.mapValues(\.relays)
        }
    }

    private let feed = AccessFeed<Policy>()
    private let clock: any AuthorizationClock

    init(clock: any AuthorizationClock) { self.clock = clock }

    func open(_ policy: Policy) { feed.open(policy) { $0.rules == policy.rules } }

    /// Closes the gate. Observers are called, unless the gate is already closed with this code.
    func withdraw(_ code: ResultCode) { feed.withdraw(code) }

    /// The policy while the gate is open. The lease is checked here, so that a late timer cannot keep the gate open;
    /// the first call that finds the lease over tells the observers.
    func policy() throws(AccessDenied) -> (policy: Policy, revision: UInt64) {
        let (present, edition) = feed.present
        switch present {
        case .notAuthorized: throw AccessDenied(.notAuthorized)
        case .withdrawn(let code): throw AccessDenied(.withdrawn, code: code)
        case .open(let policy, let revision):
            let time = policy.mark.leaseTime(wall: clock.wall, uptime: clock.uptime)
            guard time < policy.leaseEnd else {
                feed.withdraw(.blocked, unlessNewerThan: edition)
                throw AccessDenied(.withdrawn, code: .blocked)
            }
            return (policy, revision)
        }
    }

    func observe(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        feed.observe(observer)
    }

    func observe(awaiting observer: @escaping @Sendable (AccessChange) async -> Void) -> AccessObservation {
        feed.observe(awaiting: observer)
    }

    /// See ``AccessFeed/settle()``.
    func settle() async { await feed.settle() }
}

extension Gate.Rules {
    func access(to endpoint: Endpoint, revision: UInt64) throws(AccessDenied) -> ServerAccess {
        let decision = table.decide(endpoint)
        switch decision.route {
        case .deny: throw AccessDenied(.denied(decision))
        case .direct: return ServerAccess(decision: decision, relay: nil, revision: revision)
        case .relay(let name):
            // A cluster that the configuration does not have relays nothing; it never becomes a direct route.
            guard let cluster = clusters[name], !cluster.relays.isEmpty else { throw AccessDenied(.denied(decision)) }
            return ServerAccess(
                decision: decision, relay: cluster, blockedTLSVersions: Set(tls.blocked), tlsFloor: tls.floor,
                revision: revision)
        }
    }
}
