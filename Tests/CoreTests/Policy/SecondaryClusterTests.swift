import SallyportBase
import SallyportCore
import TestSupport
import Testing

/// Routes with a secondary cluster, as decisions and in judgements; and how long the first one is avoided.
@Suite struct SecondaryClusterTests {
    private let server: Endpoint
    private let other: Endpoint

    init() throws {
        server = try Endpoint("a.corp.example:443")
        other = try Endpoint("b.example:443")
    }

    private func access(_ cluster: String) throws -> RelayAccess {
        RelayAccess(
            cluster: cluster, relays: [.init(try Endpoint("\(cluster).example:443"), priority: 1)], authorities: [],
            identity: ClientIdentity(certificates: [], privateKey: Redacted("")))
    }

    @Test func everyKindOfRuleHasOne() throws {
        let table = RoutingTable(
            servers: [.init(server, route: .relay, secondary: "s")],
            domains: [.init("corp.example", route: .relay, secondary: "d")], default: .relay(cluster: "x"),
            secondary: "f")
        let inside = try Endpoint("c.corp.example:443")
        #expect(table.decide(server).secondary == "s" && table.decide(inside).secondary == "d")
        #expect(table.decide(other).secondary == "f")
        #expect("\(table.decide(server))" == "a.corp.example:443: relay, else relay:s (server a.corp.example:443)")
        let second = try #require(table.decide(other).bySecondary)
        #expect(second.route == .relay(cluster: "f") && second.secondary == nil && second.rule == .default)
    }

    @Test func aDeniedServerHasNone() throws {
        let table = RoutingTable(
            servers: [.init(server, route: .deny, secondary: "s")], default: .relay, defaultPorts: [80], secondary: "f")
        #expect(table.decide(server).secondary == nil && table.decide(other).secondary == nil)
        #expect(table.decide(other).isPortClosed)
    }

    @Test func aClusterIsAvoidedForHalfAMinute() throws {
        let avoidance = try access("a").avoidance
        let now = ContinuousClock.now
        #expect(!avoidance.holds(at: now))
        avoidance.begin(now)
        #expect(avoidance.holds(at: now) && avoidance.holds(at: now + .seconds(29)))
        #expect(!avoidance.holds(at: now + .seconds(30)))
        avoidance.begin(now)
        avoidance.finish()
        #expect(!avoidance.holds(at: now))
    }

    @Test func allRequestsUnderOnePolicyShareWhatIsKnown() throws {
        let (one, twin) = (try access("a"), try access("a"))
        let copy = one
        one.avoidance.begin()
        #expect(copy.avoidance.holds() && !twin.avoidance.holds() && one == twin)
    }
}
