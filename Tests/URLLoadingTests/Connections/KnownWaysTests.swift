import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import Synchronization
import TestSupport
import Testing

@testable import SallyportConnecting

/// Which ways a session asks for once, and when it asks again.
@Suite struct KnownWaysTests {
    private final class CountingGate: AccessGate {
        let feed = AccessFeed<(table: RoutingTable, relay: RelayAccess?)>()
        let questions = Atomic(0)
        /// Whether answers say of which policy they are.
        let hasEditions: Bool

        init(hasEditions: Bool = true) {
            self.hasEditions = hasEditions
            open(RoutingTable(default: .direct))
        }

        func open(_ table: RoutingTable, relay: RelayAccess? = nil) {
            feed.open((table, relay)) { $0.table == table && $0.relay == relay }
        }

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            questions.add(1, ordering: .relaxed)
            let publication = feed.publication
            guard case .open(let (table, relay), let revision) = publication.present else {
                throw AccessDenied(.withdrawn, code: .blocked)
            }
            let decision = table.decide(endpoint)
            if decision.route == .deny { throw AccessDenied(.denied(decision)) }
            var access = ServerAccess(
                decision: decision, relay: decision.route == .direct ? nil : relay, revision: revision)
            if hasEditions { access.edition = publication.edition }
            return access
        }

        func checkAuthorized() throws(AccessDenied) {}

        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            feed.observe(observer)
        }

        var asked: Int { questions.exchange(0, ordering: .relaxed) }
    }

    private let gate = CountingGate()
    private let connector: Connector
    private let ways: KnownWays

    init() {
        connector = Connector(gate: gate, client: StubClient([.text("")]))
        ways = KnownWays(ConnectionSettings(scope: .session("1")), of: connector)
    }

    private func way(
        _ endpoint: String = "a.example:443", isSecure: Bool = true, of principal: Principal = .instance
    ) throws -> KnownWays.Known {
        try ways.way(to: Endpoint(endpoint), isSecure: isSecure, of: principal, asking: connector)
    }

    @Test func aPolicyIsAskedOnceForAServer() throws {
        let first = try way()
        for _ in 0..<10 { #expect(try way() === first) }
        #expect(gate.asked == 1)
    }

    @Test func serverSchemeAndPrincipalAreAskedForApart() throws {
        let first = try way()
        let others = [
            try way("a.example:8443"), try way("b.example:443"), try way(isSecure: false),
            try way(of: Principal("ann")),
        ]
        #expect(gate.asked == 5)
        for other in others { #expect(other !== first) }
        #expect(others[0].path == first.path && others[3].path != first.path)
        #expect(others[3].path.partition.principal == Principal("ann"))
    }

    private static func relay() throws -> RelayAccess {
        RelayAccess(
            cluster: "main", relays: [.init(try Endpoint("relay.example:443"), priority: 1)], authorities: [[1]],
            identity: ClientIdentity(certificates: [[2]], privateKey: Redacted("key")))
    }

    @Test(arguments: [["direct.example:443", "relayed.example:443"], ["relayed.example:443", "direct.example:443"]])
    func directAndRelayedServersOfOnePolicyShareNoPath(_ servers: [String]) throws {
        let relay = try Self.relay()
        let direct = try RoutingTable.Server(Endpoint("direct.example:443"), route: .direct)
        gate.open(RoutingTable(servers: [direct], default: .relay), relay: relay)
        for server in servers {
            let expected = server == "direct.example:443" ? nil : relay
            #expect(try way(server).path.relay == expected, "\(server)")
        }
        #expect(ways.count == 2)
    }

    @Test func otherRulesAreAskedAtOnce() throws {
        _ = try way()
        let relay = try Self.relay()
        gate.open(RoutingTable(default: .relay), relay: relay)
        #expect(ways.count == 0, "nothing of a policy outlasts it")
        let relayed = try way()
        #expect(relayed.path.relay == relay && relayed.way.relay == relay && gate.asked == 2)
        gate.feed.withdraw(.wiped)
        #expect(ways.count == 0)
        #expect(throws: LoadError(.withdrawn, "")) { try way() }
    }

    @Test func aRenewedLeaseAsksAgainAndKeepsThePath() throws {
        let first = try way()
        gate.open(RoutingTable(default: .direct))
        let second = try way()
        #expect(second !== first && second.path == first.path && gate.asked == 2 && ways.count == 1)
    }

    @Test func aGateWithoutEditionsIsAskedEachTime() throws {
        let gate = CountingGate(hasEditions: false)
        let connector = Connector(gate: gate, client: StubClient([.text("")]))
        let ways = KnownWays(ConnectionSettings(scope: .session("1")), of: connector)
        for _ in 0..<3 {
            _ = try ways.way(to: Endpoint("a.example:443"), isSecure: true, of: .instance, asking: connector)
        }
        #expect(gate.asked == 3 && ways.count == 1)
    }

    @Test func withoutPolicyNothingIsAsked() throws {
        let connector = Connector(gate: nil, client: StubClient([.text("")]))
        let ways = KnownWays(ConnectionSettings(scope: .session("1")), of: connector)
        let known = try (0..<2).map { _ in
            try ways.way(to: Endpoint("a.example:443"), isSecure: true, of: .instance, asking: connector)
        }
        #expect(known[0] === known[1])
    }

    @Test func aPolicyThatChangesWhileARequestIsSentRefusesItsAnswer() async throws {
        let gate = CountingGate()
        let client = StubClient { _ throws(LoadError) in
            gate.open(RoutingTable(default: .deny))
            return StubAnswer(staysOpen: true)
        }
        let connector = Connector(gate: gate, client: client)
        let ways = KnownWays(ConnectionSettings(scope: .session("1")), of: connector)
        let request = try LoadRequest.get("http://a.example/")
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            _ = try await connector.exchange(request, in: .test, with: ways)
        }
        #expect(client.discards == 1 && ways.count == 0)
    }

    @Test func sessionsOfAConnectorKnowTheirOwnWays() throws {
        let first = try way()
        do {
            let other = KnownWays(ConnectionSettings(scope: .session("2")), of: connector)
            let second = try other.way(
                to: Endpoint("a.example:443"), isSecure: true, of: .instance, asking: connector)
            #expect(second !== first && second.path != first.path && other.count == 1)
        }
        // It takes the place of the one before.
        let next = KnownWays(ConnectionSettings(scope: .session("3")), of: connector)
        #expect(next.count == 0 && ways.count == 1)
        #expect(try way() === first)
    }

    @Test func fewServersAreKept() throws {
        for number in 1...50 { _ = try way("a.example:\(number)") }
        #expect(ways.count == 8)
    }
}
