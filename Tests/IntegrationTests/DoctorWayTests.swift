import Foundation
import SallyportCore
import SallyportWire
import TestSupport
import Testing

/// What lies behind the gateway, each broken by itself: relays, names inside, servers.
@Suite(.timeLimit(.minutes(5))) struct DoctorWayTests {
    @Test func aRelayThatIsNotThereIsNamed() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let port = LoopbackPort.free()
        try await site.admin("cluster", "set", "branch", "localhost:\(port)")
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["relay"] && outcome.status == 69, "\(outcome.output)")
        #expect(report.outcomes(of: "relay").sorted() == ["failed", "ok"])
    }

    enum Impostor: CaseIterable { case plain, foreign, refusing, silent }

    /// Something else has its port: without TLS, with a certificate of others, with one of the gateway's that wants
    /// certificates of others, or without a word.
    @Test(arguments: Impostor.allCases) func aRelayThatIsAnotherIsNamed(_ impostor: Impostor) async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let others = try TestAuthority(name: "Others")
        var tls = TestTLS(try others.server(names: ["localhost"]))
        if impostor == .refusing {
            let folder = site.folder.path
            try await site.stopGateway()
            let made = try await sallyport(
                "gateway", "certificate", "localhost", "-o", folder, "--data", site.data)
            try #require(made.status == 0, "\(made.error)")
            tls = TestTLS(
                try TestIdentity(
                    pem: String(contentsOfFile: "\(folder)/localhost.pem", encoding: .utf8),
                    keyPEM: String(contentsOfFile: "\(folder)/localhost.key", encoding: .utf8)))
            tls.clientAuthority = others
            try await site.startGateway()
        }
        let server = try TestServer { [tls] connection in
            switch impostor {
            case .plain: connection.write("220 mail.corp.example\r\n")
            case .foreign, .refusing: _ = tls.accept(connection)?.readHead()
            case .silent: break
            }
            connection.awaitEnd()
        }
        defer { server.stop() }
        try await site.admin("cluster", "set", "branch", "localhost:\(server.port)")
        let (report, outcome) = try await doctor(store, "--max-time", "8")
        #expect(report.failed == ["relay"], "\(outcome.output)")
        let expected: (status: Int32, advice: String) =
            switch impostor {
            case .plain: (69, "nothing else has port \(server.port)")
            case .foreign: (76, "gateway's authority")
            case .refusing: (77, "trusts the gateway's authority")
            case .silent: (69, "see that it runs")
            }
        #expect(outcome.status == expected.status && report.advice.contains(expected.advice), "\(outcome.output)")
    }

    // MARK: Names

    private static let name = "portal.corp.example"

    /// Whether the gateway's resolver knows the name, does not, or fails.
    @Test(
        arguments: [
            (DNSMessage.ResponseCode.noError, [], nil), (.nameError, ["names"], "'gateway run --dns'"),
            (.serverFailure, ["names"], "Kerberos"),
        ] as [(DNSMessage.ResponseCode, [String], String?)])
    func aNameThatIsNotResolvedInsideIsNamed(
        _ code: DNSMessage.ResponseCode, _ warned: [String], _ advice: String?
    ) async throws {
        let resolver = try TestDatagramServer { bytes in
            guard let query = try? DNSMessage(parsing: bytes) else { return nil }
            let address = DNSMessage.Record(query.question.name, timeToLive: 1, .address(.v4(0x7f00_0003)))
            let answers = code == .noError && query.question.type == .a ? [address] : []
            return try? DNSMessage(answering: query, code: code, answers: answers).serialized()
        }
        let site = try await Site.start()
        try await site.stopGateway()
        try await site.startGateway("--dns", "127.0.0.1:\(resolver.port)")
        try await site.admin("server", "add", "\(Self.name):443")
        let store = try await site.activatedStore()
        let (report, outcome) = try await doctor(store)
        #expect(report.warned == warned && report.failed.isEmpty && outcome.status == 0, "\(outcome.output)")
        #expect(report.message(of: "names").contains(Self.name))
        guard let advice else { return }
        #expect(report.advice.contains(advice), "\(report.advice)")
        // The finding for the server mentions the relay, which does not know the name either.
        let (away, unreached) = try await doctor(store, "\(Self.name):443")
        #expect(away.failed == ["server"] && unreached.status == 69, "\(unreached.output)")
        #expect(away.findings.last?.advice?.contains("knows its name") == true, "\(unreached.output)")
    }

    /// The policy that is stored relays it, and the one that holds now does not.
    @Test func aServerThatIsNoLongerListedIsNamed() async throws {
        let site = try await Site.start()
        try await site.admin("server", "add", "\(Self.name):443", "--address", Intranet.address)
        let store = try await site.activatedStore()
        try await site.admin("server", "remove", "\(Self.name):443")
        let (report, outcome) = try await doctor(store, "\(Self.name):443")
        #expect(report.warned == ["names"] && report.failed == ["server"] && outcome.status == 77, "\(outcome.output)")
        #expect(report.advice.contains("start the app") && report.outcomes(of: "relay") == ["ok"])
    }

    // MARK: Servers

    @Test func eachThingThatKeepsAServerAwayIsNamed() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let listed = "\(Intranet.name):\(intranet.port)"
        let (untrusted, tls) = try await doctor(store, "https://\(listed)")
        #expect(untrusted.failed == ["server"] && tls.status == 76, "\(tls.output)")
        #expect(untrusted.findings.last?.advice?.contains("--ca") == true)
        // Without TLS the same server is reached.
        #expect(try await doctor(store, listed).outcome.status == 0)
        let (denied, policy) = try await doctor(store, "https://other.corp.example")
        #expect(denied.failed == ["server"] && policy.status == 77)
        #expect(denied.findings.last?.advice?.contains("admin server add") == true)
        let port = LoopbackPort.free()
        try await site.admin("server", "add", "down.corp.example:\(port)", "--address", "127.0.0.3")
        let (down, away) = try await doctor(store, "down.corp.example:\(port)")
        #expect(down.failed == ["server"] && away.status == 69, "\(away.output)")
        // One that the policy reaches without a relay.
        let closed = LoopbackPort.free()
        try await site.admin("server", "add", "127.0.0.1:\(closed)", "--route", "direct")
        let (direct, refused) = try await doctor(store, "127.0.0.1:\(closed)")
        #expect(direct.failed == ["server"] && refused.status == 69, "\(refused.output)")
        #expect(direct.findings.last?.message.contains("direct") == true)
        #expect(try await sallyport("doctor", "nonsense", "--store", store).status == 64)
    }
}
