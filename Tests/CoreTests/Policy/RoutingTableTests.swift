import SallyportCore
import SallyportLoading
import Testing

@Suite struct RoutingTableTests {
    private func server(_ text: String, _ route: Route) throws -> RoutingTable.Server {
        RoutingTable.Server(try Endpoint(text), route: route)
    }

    @Test func theExactServerComesFirst() throws {
        let table = RoutingTable(
            servers: [try server("a.corp.example:8443", .direct)],
            domains: [.init("corp.example", route: .relay)], default: .relay)
        let decision = table.decide(try Endpoint("a.corp.example:8443"))
        #expect(decision.route == .direct)
        #expect(decision.rule == .server(try Endpoint("a.corp.example:8443")))
    }

    @Test func aListedHostOnAnUnlistedPortFallsToTheDomain() throws {
        let table = RoutingTable(
            servers: [try server("a.corp.example:8443", .direct)], domains: [.init("corp.example", route: .relay)])
        #expect(table.decide(try Endpoint("a.corp.example:443")).rule == .domain("corp.example"))
        #expect(table.decide(try Endpoint("a.corp.example:443")).route == .relay)
    }

    @Test func theLongestDomainWins() throws {
        let table = RoutingTable(
            domains: [.init("example", route: .direct), .init("lab.corp.example", route: .relay(cluster: "lab"))])
        #expect(table.decide(try Endpoint("x.lab.corp.example:443")).route == .relay(cluster: "lab"))
        #expect(table.decide(try Endpoint("lab.corp.example:443")).route == .relay(cluster: "lab"))
        #expect(table.decide(try Endpoint("x.corp.example:443")).rule == .domain("example"))
    }

    @Test func aDomainMatchesWholeLabels() throws {
        let table = RoutingTable(domains: [.init("corp.example", route: .relay)])
        #expect(table.decide(try Endpoint("evilcorp.example:443")).rule == .default)
        #expect(table.decide(try Endpoint("corp.example.evil:443")).rule == .default)
    }

    @Test func denyOnAnyMatchingDomainWins() throws {
        let table = RoutingTable(
            servers: [try server("a.lab.corp.example:443", .direct)],
            domains: [.init("corp.example", route: .deny), .init("lab.corp.example", route: .relay)], default: .direct)
        let decision = table.decide(try Endpoint("a.lab.corp.example:443"))
        #expect(decision.route == .deny)
        #expect(decision.rule == .domain("corp.example"))
    }

    @Test func denyOnTheServerWinsOverTheDomain() throws {
        let table = RoutingTable(
            servers: [try server("a.corp.example:443", .deny)], domains: [.init("corp.example", route: .relay)])
        #expect(table.decide(try Endpoint("a.corp.example:443")).route == .deny)
        #expect(table.decide(try Endpoint("a.corp.example:80")).route == .relay)
    }

    @Test func denyWinsOverATwinOfTheSameName() throws {
        for twins in [[Route.deny, .direct], [.direct, .deny]] {
            let table = RoutingTable(
                servers: try twins.map { try server("a.example:1", $0) },
                domains: twins.map { .init("b.example", route: $0) })
            #expect(table.decide(try Endpoint("a.example:1")).route == .deny)
            #expect(table.decide(try Endpoint("x.b.example:1")).route == .deny)
        }
    }

    @Test func theDefaultCountsOnlyWhereNothingMatches() throws {
        let table = RoutingTable(domains: [.init("corp.example", route: .relay)], default: .direct)
        #expect(table.decide(try Endpoint("other.example:9")).route == .direct)
        #expect(RoutingTable().decide(try Endpoint("other.example:443")).route == .deny)
    }

    @Test func relaysOpenListedPortsOnly() throws {
        let table = RoutingTable(
            domains: [.init("corp.example", route: .relay), .init("db.example", route: .relay, ports: [5432])],
            default: .relay)
        #expect(table.decide(try Endpoint("a.corp.example:22")).route == .deny)
        #expect(table.decide(try Endpoint("a.corp.example:22")).isPortClosed)
        #expect(table.decide(try Endpoint("a.corp.example:80")).route == .relay)
        #expect(table.decide(try Endpoint("a.db.example:5432")).route == .relay)
        #expect(table.decide(try Endpoint("a.db.example:443")).route == .deny)
        #expect(table.decide(try Endpoint("z.example:8080")).isPortClosed)
        #expect(RoutingTable(default: .direct).decide(try Endpoint("z.example:22")).route == .direct)
    }

    @Test func addressesMatchNoDomain() throws {
        let table = RoutingTable(
            servers: [try server("127.0.0.1:80", .direct)], domains: [.init("1", route: .relay)], default: .deny)
        #expect(table.decide(try Endpoint("0x7f.1:80")).route == .direct)
        #expect(table.decide(try Endpoint("10.0.0.1:80")).rule == .default)
    }

    @Test(arguments: ["relay", "relay:lab", "direct", "deny"]) func routesRoundTrip(_ text: String) {
        #expect(Route(text)?.description == text)
    }

    @Test func relayMainIsRelay() { #expect(Route("relay:main") == .relay) }

    @Test(arguments: [
        "", "Relay", "relay:", "relay:a b", "relay:a/b", "deny ", "relay:" + String(repeating: "a", count: 65),
    ])
    func otherRoutesAreNone(_ text: String) { #expect(Route(text) == nil) }

    @Test func decisionsSayWhy() throws {
        let table = RoutingTable(domains: [.init("corp.example", route: .relay)])
        #expect(
            table.decide(try Endpoint("a.corp.example:443")).description
                == "a.corp.example:443: relay (domain corp.example)")
        #expect(
            table.decide(try Endpoint("a.corp.example:22")).description
                == "a.corp.example:22: deny (domain corp.example does not open port 22)")
        #expect(table.decide(try Endpoint("b.example:443")).description == "b.example:443: deny (default)")
    }

    /// Against the rule written down a second time, over all subsets of a small world.
    @Test func randomTablesFollowTheRule() throws {
        var generator = SeededGenerator(seed: 7)
        let names = ["example", "a.example", "b.a.example", "c.b.a.example"]
        let routes: [Route] = [.relay, .direct, .deny]
        for _ in 0..<2_000 {
            let domains = names.filter { _ in Bool.random(using: &generator) }.map {
                RoutingTable.Domain($0, route: routes.randomElement(using: &generator) ?? .deny)
            }
            let servers = try names.filter { _ in Bool.random(using: &generator) }.map {
                try server("\($0):443", routes.randomElement(using: &generator) ?? .deny)
            }
            let host = names.randomElement(using: &generator) ?? ""
            let endpoint = try Endpoint("\(host):443")
            let matching = domains.filter { host == $0.name || host.hasSuffix(".\($0.name)") }
                .sorted { $0.name.count > $1.name.count }
            let listed = servers.first { $0.endpoint == endpoint }?.route
            let isDenied = listed == .deny || matching.contains { $0.route == .deny }
            let expected = isDenied ? .deny : listed ?? matching.first?.route ?? .direct
            #expect(
                RoutingTable(servers: servers, domains: domains, default: .direct).decide(endpoint).route == expected)
        }
    }
}
