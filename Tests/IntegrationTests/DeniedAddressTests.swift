import Foundation
import SallyportCore
import SallyportWire
import TestSupport
import Testing

/// An administrator denies addresses: names that lead there can be reached neither through the relay nor directly.
@Suite(.timeLimit(.minutes(3))) struct DeniedAddressTests {
    private static let name = "portal.corp.example"

    /// A gateway that uses a resolver of the test's own, which knows one name.
    private func site(_ name: String, leadsTo address: IPAddress) async throws -> (Site, TestDatagramServer) {
        let resolver = try TestDatagramServer { bytes in
            guard let query = try? DNSMessage(parsing: bytes) else { return nil }
            let isKnown = "\(query.question.name)" == name && query.question.type == .a
            let record = DNSMessage.Record(query.question.name, timeToLive: 1, .address(address))
            return try? DNSMessage(answering: query, answers: isKnown ? [record] : []).serialized()
        }
        let site = try await Site.start()
        try await site.stopGateway()
        try await site.startGateway("--dns", "127.0.0.1:\(resolver.port)")
        return (site, resolver)
    }

    @Test(arguments: ["198.18.0.9", "100.100.100.200"]) func theRelayRefusesANameThatLeadsThere(
        _ address: String
    ) async throws {
        let (site, resolver) = try await site(Self.name, leadsTo: try #require(IPAddress(address)))
        try await site.admin("route", "set", "corp.example", "relay")
        try await site.admin("route", "set", "198.18.0.0/24", "deny")
        let store = try await site.activatedStore()
        let outcome = try await site.fetch("https://\(Self.name)/", store, "--json")
        let failure = try outcome.failure()
        #expect(failure.name == "relayRefused" && failure.message.contains("destination_ip_prohibited"))
        #expect(outcome.status == 77)
        let rule = address.hasPrefix("198") ? "network 198.18.0.0/24" : "cloud metadata"
        #expect(failure.message.contains("denied address: \(rule)"), "\(failure)")
        let literal = try await site.fetch("https://\(address)/", store, "--json")
        #expect(try literal.failure().name == "refusedByPolicy" && literal.status == 77)
        withExtendedLifetime(resolver) {}
    }

    @Test func aDirectConnectionIsNotMade() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let site = try await Site.start()
        try await site.admin("route", "set", "localhost", "direct")
        let store = try await site.activatedStore()
        let url = "http://localhost:\(server.port)/"
        #expect(try await site.fetch(url, store).output == "ok")
        try await site.admin("route", "set", "127.0.0.0/8", "deny")
        try await site.admin("route", "set", "::1", "deny")
        let refused = try await site.fetch(url, store, "--json")
        let failure = try refused.failure()
        #expect(refused.status == 77 && failure.name == "refusedByPolicy" && failure.message.contains("(network "))
        #expect(server.acceptedConnections == 1)
        let name = try await sallyport("explain", url, "--store", store).output
        #expect(
            name.contains("direct (domain localhost)") && name.contains("judged when it is connected to"), "\(name)")
        let literal = try await sallyport("explain", "http://127.1/", "--store", store).output
        #expect(literal.contains("127.0.0.1:80: deny (network 127.0.0.0/8)"), "\(literal)")
        try await site.admin("route", "remove", "127.0.0.0/8")
        try await site.admin("route", "remove", "::1/128")
        #expect(try await site.fetch(url, store).output == "ok")
    }

    @Test func theAdministratorsInputIsReadExactly() async throws {
        let site = try await Site.start()
        let wrong = try await site.tryAdmin(["route", "set", "10.0.0.1/8", "deny"])
        #expect(wrong.status != 0 && wrong.error.contains("write 10.0.0.0/8"), "\(wrong.status) \(wrong.error)")
        let direct = try await site.tryAdmin(["route", "set", "10.0.0.0/8", "direct"])
        #expect(direct.status != 0 && direct.error.contains("only be denied"), "\(direct.error)")
        try await site.admin("route", "set", "10.0.0.0/8", "deny")
        let shown = try await site.admin("show").output
        #expect(shown.contains("domain: 10.0.0.0/8"), "\(shown)")
        let file = site.folder.file("declaration.yaml")
        try shown.write(toFile: file, atomically: true, encoding: .utf8)
        let again = try await site.admin("apply", "-f", file, "--prune", "--dry-run")
        #expect(!again.output.contains("10.0.0.0"), "\(again.output)")
    }
}
