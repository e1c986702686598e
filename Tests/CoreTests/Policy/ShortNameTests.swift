import SallyportCore
import Testing

/// How names without a domain are completed.
@Suite struct ShortNameTests {
    private func table(
        _ servers: [(String, Route)] = [], _ domains: [(String, Route)] = [], default fallback: Route = .deny,
        _ defaultDomains: String...
    ) throws -> RoutingTable {
        RoutingTable(
            servers: try servers.map { RoutingTable.Server(try Endpoint($0.0), route: $0.1) },
            domains: domains.map { RoutingTable.Domain($0.0, route: $0.1) }, default: fallback,
            defaultDomains: defaultDomains)
    }

    private func completed(_ text: String, by table: RoutingTable) throws -> String {
        table.completed(try Endpoint(text)).description
    }

    @Test func theListedServerCountsBeforeAnyDomain() throws {
        let table = try table(
            [("portal.b.example:443", .relay)], [("a.example", .relay), ("b.example", .relay)], "a.example",
            "b.example")
        #expect(try completed("portal:443", by: table) == "portal.b.example:443")
        #expect(try completed("PORTAL.:443", by: table) == "portal.b.example:443")
        // Another port is another server.
        #expect(try completed("portal:80", by: table) == "portal.a.example:80")
    }

    @Test func aDomainThatIsDeniedOrClosedIsPassedOver() throws {
        let table = try table(
            [("portal.c.example:443", .deny)], [("a.example", .deny), ("d.example", .relay)], "a.example", "b.example",
            "c.example", "d.example")
        #expect(try completed("portal:443", by: table) == "portal.d.example:443")
        // The ports of a domain.
        #expect(try completed("portal:8443", by: table) == "portal.a.example:8443")
    }

    @Test func ifNoneIsOpenTheRefusalHasTheFirstWholeName() throws {
        let table = try table([], [], "a.example", "b.example")
        let whole = table.completed(try Endpoint("portal:443"))
        #expect(whole.description == "portal.a.example:443")
        #expect(table.decide(whole).route == .deny)
    }

    @Test(arguments: [
        "portal.a.example:443", "a.example:443", "127.0.0.1:443", "[::1]:443", "localhost:443", "2130706433:443",
    ])
    func otherNamesStandForThemselves(text: String) throws {
        let table = try table([], [("a.example", .relay)], default: .direct, "a.example")
        #expect(table.completed(try Endpoint(text)) == (try Endpoint(text)))
    }

    @Test func aShortNameThatARuleHasStandsForItself() throws {
        let table = try table(
            [("portal:443", .direct)], [("wiki", .deny), ("a.example", .relay)], "a.example")
        #expect(try completed("portal:443", by: table) == "portal:443")
        #expect(try completed("portal:80", by: table) == "portal:80")
        #expect(try completed("wiki:443", by: table) == "wiki:443")
        #expect(try completed("mail:443", by: table) == "mail.a.example:443")
    }

    @Test func withoutDefaultDomainsNothingIsCompleted() throws {
        let table = try table([], [("a.example", .relay)])
        #expect(try completed("portal:443", by: table) == "portal:443")
    }

    @Test func aNameThatWouldBeTooLongIsNotCompleted() throws {
        let long = Array(repeating: String(repeating: "d", count: 62), count: 4).joined(separator: ".")
        let table = try table([], [], default: .relay, long)
        #expect(try completed("portal:443", by: table) == "portal:443")
    }
}
