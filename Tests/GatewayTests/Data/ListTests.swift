import Foundation
import SallyportCore
import Testing

@testable import SallyportGateway

/// What an administrator is shown of the directory.
@Suite struct ListTests {
    private func fixture(_ yaml: String) async throws -> DataFixture {
        let fixture = try await DataFixture()
        let applied = await fixture.data.perform(.apply(yaml: yaml, prune: true, dryRun: false, confirmed: true))
        guard case .changes = applied else { throw GatewayError(.invalid, "\(applied)") }
        return fixture
    }

    private static let declaration = """
        apps:
          - {id: com.example.z, versions: [1.0.0.0]}
          - {id: com.example.a, versions: [10.0.0.0, 2.0.0.0, 1.0.0.0]}
        users:
          - {name: ann, entitlements: [{app: com.example.a, versions: [1.0.0.0, 2.0.0.0]}]}
          - {name: bob, entitlements: [{app: com.example.a, versions: [10.0.0.0]}]}
          - {name: cid}
        clusters:
          - {name: west, relays: [{server: "b.example:443", priority: 2}, {server: "c.example:443", priority: 1},
              {server: "a.example:443", priority: 2}]}
          - {name: east, relays: [{server: "d.example:443"}]}
        servers:
          - {server: "b.corp.example:443", route: "relay:west"}
          - {server: "a.corp.example:443", app: com.example.a, priority: 3, address: 10.1.2.3}
          - {server: "b.corp.example:443", app: com.example.a, route: deny}
        routes:
          - {domain: corp.example, route: relay, ports: [8443, 443]}
          - {domain: a.example, route: direct}
          - {domain: "fd00::/8", route: deny}
          - {domain: 10.0.0.0/8, route: deny}
          - {domain: default, route: deny}
        """

    @Test func appsHaveTheirVersionsInOrderAndHowManyUseThem() async throws {
        let reply = try await fixture(Self.declaration).data.perform(.listApplications)
        #expect(
            reply
                == .applications([
                    .init(
                        entitlement: "com.example.a", versions: ["1.0.0.0", "2.0.0.0", "10.0.0.0"], users: 2,
                        servers: 2),
                    .init(entitlement: "com.example.z", versions: ["1.0.0.0"], users: 0, servers: 0),
                ]))
    }

    @Test func serversAreSortedAndThoseForAllAppsHaveNoPriority() async throws {
        let reply = try await fixture(Self.declaration).data.perform(.listServers)
        #expect(
            reply
                == .servers([
                    .init(
                        endpoint: "a.corp.example:443", entitlement: "com.example.a", priority: 3, route: "relay",
                        address: "10.1.2.3"),
                    .init(endpoint: "b.corp.example:443", route: "relay:west"),
                    .init(endpoint: "b.corp.example:443", entitlement: "com.example.a", priority: 1, route: "deny"),
                ]))
    }

    @Test func routesAreDomainsThenNetworksThenTheDefault() async throws {
        let reply = try await fixture(Self.declaration).data.perform(.listRoutes)
        #expect(
            reply
                == .routes([
                    .init(domain: "a.example", route: "direct", ports: [80, 443]),
                    .init(domain: "corp.example", route: "relay", ports: [443, 8443]),
                    .init(domain: "10.0.0.0/8", route: "deny", ports: nil),
                    .init(domain: "fd00::/8", route: "deny", ports: nil),
                    .init(domain: "default", route: "deny", ports: [80, 443]),
                ]))
    }

    @Test func clustersHaveTheirRelaysInOrderAndTheGatewaysOwnIsAmongThem() async throws {
        let reply = try await fixture(Self.declaration).data.perform(.listClusters)
        #expect(
            reply
                == .clusters([
                    .init(name: "east", relays: [.init(endpoint: "d.example:443")]),
                    .init(name: "main", relays: [.init(endpoint: "localhost:17533")]),
                    .init(
                        name: "west",
                        relays: [
                            .init(endpoint: "c.example:443"), .init(endpoint: "a.example:443", priority: 2),
                            .init(endpoint: "b.example:443", priority: 2),
                        ]),
                ]))
    }

    @Test func anEmptyGatewayListsItsDefaultRouteAndItsOwnRelayOnly() async throws {
        let data = try await fixture("{}").data
        #expect(await data.perform(.listApplications) == .applications([]))
        #expect(await data.perform(.listServers) == .servers([]))
        #expect(
            await data.perform(.listRoutes) == .routes([.init(domain: "default", route: "deny", ports: [80, 443])]))
        #expect(
            await data.perform(.listClusters)
                == .clusters([.init(name: "main", relays: [.init(endpoint: "localhost:17533")])]))
    }

    /// The largest directory that the limits allow stays far below the longest answer of the socket.
    @Test func aListOfEveryServerFitsIntoAnAnswer() async throws {
        var directory = Directory()
        try directory.addApplication("com.example.report", version: "1.0.0.0")
        let name = String(repeating: "a", count: 60)
        directory.servers = (0..<Directory.Limits.servers).map { number in
            .init(
                endpoint: "\(name).\(name).\(name).s\(number).example:443", application: "com.example.report",
                priority: 1000, route: .relay, address: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
        }
        let answer = try JSONEncoder().encode(AdministrationReply.servers(directory.serverEntries))
        #expect(answer.count < AdministrationSocket.maximumAnswer / 16)
    }
}
