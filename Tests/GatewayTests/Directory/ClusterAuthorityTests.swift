import Foundation
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Clusters whose relays have certificates from elsewhere.
@Suite struct ClusterAuthorityTests {
    private static let relays = [Directory.Relay(endpoint: "relay.example:443")]

    @Test func appsAreToldOfTheClustersOwnAuthorityAndNoOther() async throws {
        let (own, fixture) = (try TestAuthority(name: "Corp CA"), try await DataFixture())
        let entries = [AdministrationCommand.RelayEntry(endpoint: "relay.example:443")]
        try await fixture.perform(.setCluster(name: "own", relays: entries, authorities: try own.pem))
        try await fixture.perform(.setCluster(name: "plain", relays: entries))
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let clusters = try await fixture.document(presented).clusters
        let authorities = Dictionary(uniqueKeysWithValues: clusters.map { ($0.name, $0.authorities) })
        #expect(authorities["own"] == [try own.der])
        #expect(authorities["plain"] == authorities["main"] && authorities["plain"]?.isEmpty == false)
        try await fixture.perform(.setCluster(name: "own", relays: entries))
        let after = try await fixture.document(presented).clusters
        #expect(after.first { $0.name == "own" }?.authorities == authorities["main"])
    }

    @Test func showAndApplyCarryThem() throws {
        var directory = Directory()
        let pems = try (0..<4).map { try TestAuthority(name: "CA \($0)").pem }
        try directory.setCluster("own", Self.relays, authorities: "Corp's:\n" + pems.joined(separator: "\n"))
        // A file that names only the relays takes no authorities away, but for `--prune`.
        let declared = try Declaration(yaml: "clusters: [{name: own, relays: [{server: 'r.example:443'}]}]")
        #expect(try directory.applying(declared, prune: false).authorities(of: "own")?.ders.count == 4)
        #expect(try directory.applying(declared, prune: true).authorities(of: "own") == nil)
        #expect(try directory.authorities(of: "own")?.ders.count == 4)
        #expect(directory.clusterAuthorities?["own"] == pems.joined())
        let yaml = try directory.declaration.yaml()
        #expect(try Directory().applying(Declaration(yaml: yaml), prune: true) == directory)
        let bare = try Directory().applying(
            Declaration(yaml: "clusters: [{name: own, relays: [{server: \"relay.example:443\"}]}]"), prune: true)
        #expect(directory.difference(to: bare).count == 4 && bare.clusterAuthorities == nil)
        try directory.removeCluster("own")
        #expect(directory == Directory())
    }

    @Test func dataOfOlderVersionsHasNone() throws {
        var directory = Directory()
        try directory.setCluster("own", Self.relays)
        let text = String(decoding: try JSONEncoder().encode(directory), as: UTF8.self)
        #expect(!text.contains("clusterAuthorities"))
        #expect(try JSONDecoder().decode(Directory.self, from: Data(text.utf8)) == directory)
    }

    @Test func whatIsNoAuthorityIsRefusedAndChangesNothing() throws {
        let authority = try TestAuthority()
        let five = try (0..<5).map { _ in try TestAuthority().pem }.joined()
        let truncated = try authority.pem.replacing(
            "-----BEGIN CERTIFICATE-----\nM", with: "-----BEGIN CERTIFICATE-----\nA")
        for pem in ["", "no PEM", five, truncated, try authority.server().pem] {
            var directory = Directory()
            #expect(throws: GatewayError.self) { try directory.setCluster("own", Self.relays, authorities: pem) }
            #expect(directory == Directory())
        }
    }

    @Test func allClustersTogetherHaveALimit() throws {
        var directory = Directory()
        let pem = try (0..<4).map { _ in try TestAuthority().pem }.joined()
        let count = ClusterAuthorities.maximumLength / pem.utf8.count
        try #require(count < Directory.Limits.clusters)
        for number in 0..<count { try directory.setCluster("c\(number)", Self.relays, authorities: pem) }
        let before = directory
        #expect(throws: GatewayError.self) {
            for number in 0..<2 { try directory.setCluster("d\(number)", Self.relays, authorities: pem) }
        }
        #expect(directory.clusters.count <= before.clusters.count + 1)
    }
}
