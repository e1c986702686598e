internal import SallyportCore
internal import SallyportWire

/// The policy that requests ask: one lock around one reference, and no waiting. A request with a given way checks its
/// edition (``PolicyEdition``) from then on, which takes no lock.
final class Gate: Sendable {
    /// The current policy while the gate is open.
    struct Policy: Sendable {
        let rules: Rules
        let leaseEnd: Int64
        let mark: TimeMark
    }

    /// A running lease. Two clocks count: the wall clock, which may be ahead, and the machine's own clock, which cannot
    /// be set and includes suspension, as no coarse clock does. A lease ends at a whole second.
    final class Lease: PolicyLease {
        private let end: Int64
        private let mark: TimeMark
        private let clock: any AuthorizationClock

        init(end: Int64, mark: TimeMark, clock: any AuthorizationClock) {
            (self.end, self.mark, self.clock) = (end, mark, clock)
        }

        var isOver: Bool { mark.leaseTime(wall: clock.wall, uptime: clock.uptime) >= end }
    }

    /// The part of a policy that decides on connections. Policies with equal rules differ only in their lease, so a
    /// change between them ends no connection.
    final class Rules: Sendable, Equatable {
        let table: RoutingTable
        let clusters: [String: RelayAccess]
        let tls: ConfigurationDocument.TLSRestrictions
        /// In lower case.
        let schemes: Set<String>

        init(
            table: RoutingTable, clusters: [String: RelayAccess], tls: ConfigurationDocument.TLSRestrictions,
            schemes: Set<String>
        ) {
            (self.table, self.clusters, self.tls, self.schemes) = (table, clusters, tls, schemes)
        }

        /// The identity is not compared: a renewed one is used for new connections and ends none.
        static func == (one: Rules, other: Rules) -> Bool {
            one.table == other.table && one.tls == other.tls && one.schemes == other.schemes
                && one.clusters.mapValues(\.relays) == other.clusters.mapValues(\.relays)
                && one.clusters.mapValues(\.authorities) == other.clusters.mapValues(\.authorities)
        }
    }

    private let feed = AccessFeed<Policy>()
    private let clock: any AuthorizationClock

    init(clock: any AuthorizationClock) { self.clock = clock }

    func open(_ policy: Policy) {
        let lease = Lease(end: policy.leaseEnd, mark: policy.mark, clock: clock)
        feed.open(policy, lease: lease) { $0.rules == policy.rules }
    }

    /// Closes the gate. Observers are called, unless the gate is already closed with this code.
    func withdraw(_ code: ResultCode) { feed.withdraw(code) }

    /// The policy while the gate is open. The lease is checked here, so that a late timer cannot keep the gate open;
    /// the first call that finds the lease over tells the observers.
    func policy() throws(AccessDenied) -> (policy: Policy, revision: UInt64, edition: PolicyEdition) {
        let publication = feed.publication
        switch publication.present {
        case .notAuthorized: throw AccessDenied(.notAuthorized)
        case .withdrawn(let code): throw AccessDenied(.withdrawn, code: code)
        case .open(let policy, let revision):
            guard !publication.edition.isLeaseOver else {
                feed.withdraw(.blocked, unlessNewerThan: publication.edition.number)
                throw AccessDenied(.withdrawn, code: .blocked)
            }
            return (policy, revision, publication.edition)
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
            let usable = [name, decision.secondary].compactMap(\.self).compactMap { clusters[$0] }
                .filter { !$0.relays.isEmpty }
            guard let first = usable.first else { throw AccessDenied(.denied(decision)) }
            return ServerAccess(
                decision: first.cluster == name ? decision : decision.bySecondary ?? decision, relay: first,
                secondary: usable.dropFirst().first, blockedTLSVersions: Set(tls.blocked), tlsFloor: tls.floor,
                revision: revision)
        }
    }
}
