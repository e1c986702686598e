import SallyportBase
import SallyportCore
import Synchronization
import Testing

/// What is asked of a policy once there is a connection: nothing while nothing else was published, and all again after.
@Suite struct PolicyEditionTests {
    /// Publishes tables of routes, and counts what it is asked.
    private final class EditionGate: AccessGate {
        let feed = AccessFeed<RoutingTable>()
        let questions = Atomic(0)

        func open(_ table: RoutingTable, lease: (any PolicyLease)? = nil) {
            feed.open(table, lease: lease) { $0 == table }
        }

        private func present() throws(AccessDenied) -> (RoutingTable, UInt64, PolicyEdition) {
            questions.add(1, ordering: .relaxed)
            let publication = feed.publication
            switch publication.present {
            case .notAuthorized: throw AccessDenied(.notAuthorized)
            case .withdrawn(let code): throw AccessDenied(.withdrawn, code: code)
            case .open(let table, let revision):
                guard !publication.edition.isLeaseOver else { throw AccessDenied(.withdrawn, code: .blocked) }
                return (table, revision, publication.edition)
            }
        }

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            let (table, revision, edition) = try present()
            let decision = table.decide(endpoint)
            if decision.route == .deny { throw AccessDenied(.denied(decision)) }
            var access = ServerAccess(decision: decision, relay: nil, revision: revision)
            access.edition = edition
            return access
        }

        func checkAuthorized() throws(AccessDenied) { _ = try present() }
        func rulesRevision() throws(AccessDenied) -> UInt64 { try present().1 }
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            feed.observe(observer)
        }
    }

    private final class TurnedLease: PolicyLease {
        let end = Atomic(false)
        var isOver: Bool { end.load(ordering: .relaxed) }
    }

    private static let direct = RoutingTable(default: .direct)
    private let gate = EditionGate()

    /// Asks the way, lets something happen, and asks again with a connection.
    private func confirm(after change: () -> Void) throws {
        let endpoint = try Endpoint("a.example:443")
        let way = try gate.way(to: endpoint, isSecure: true, offering: .standard)
        change()
        gate.questions.store(0, ordering: .relaxed)
        try gate.confirm(way, OpenConnection(to: endpoint, through: nil, tlsVersion: nil))
    }

    @Test func whileNothingWasPublishedTheGateIsNotAskedAgain() throws {
        gate.open(Self.direct)
        try confirm {}
        #expect(gate.questions.load(ordering: .relaxed) == 0)
    }

    @Test func aPolicyWithTheSameRulesEndsNothing() throws {
        gate.open(Self.direct)
        try confirm { gate.open(Self.direct) }
        #expect(gate.questions.load(ordering: .relaxed) == 1, "asked whether its rules are others")
    }

    @Test func otherRulesJudgeTheConnection() throws {
        gate.open(Self.direct)
        let others = RoutingTable(domains: [.init("other.example", route: .deny)], default: .direct)
        try confirm { gate.open(others) }
        #expect(gate.questions.load(ordering: .relaxed) == 2)
        #expect(throws: LoadError(.refusedByPolicy, "")) { try confirm { gate.open(RoutingTable(default: .deny)) } }
    }

    @Test func aWithdrawalRefusesTheConnection() throws {
        gate.open(Self.direct)
        #expect(throws: LoadError(.withdrawn, "")) { try confirm { gate.feed.withdraw(.blocked) } }
    }

    @Test func aWithdrawalThatWasTakenBackIsJudged() throws {
        gate.open(Self.direct)
        try confirm {
            gate.feed.withdraw(.blocked)
            gate.open(Self.direct)
        }
        #expect(gate.questions.load(ordering: .relaxed) == 2, "an edition that was replaced does not come back")
    }

    @Test func aLeaseThatRanOutMeanwhileRefusesTheConnection() throws {
        let lease = TurnedLease()
        gate.open(Self.direct, lease: lease)
        try confirm {}
        #expect(throws: LoadError(.withdrawn, "")) { try confirm { lease.end.store(true, ordering: .relaxed) } }
    }

    @Test func eachPublicationReplacesTheOneBefore() {
        var editions: [PolicyEdition] = [gate.feed.publication.edition]
        for publish in [{ gate.open(Self.direct) }, { gate.open(Self.direct) }, { gate.feed.withdraw(.blocked) }] {
            publish()
            editions.append(gate.feed.publication.edition)
        }
        #expect(editions.map(\.number) == [0, 1, 2, 3])
        #expect(editions.map(\.isInForce) == [false, false, false, true])
    }
}
