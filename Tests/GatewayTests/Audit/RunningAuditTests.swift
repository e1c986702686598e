import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportSocketDiagnosis
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What a running gateway writes into its own chain.
@Suite(.timeLimit(.minutes(1))) struct RunningAuditTests {
    private func entries(_ fixture: ControlFixture, of kind: AuditKind) async throws -> [AuditEntry] {
        try await fixture.data.accessEntries().filter { $0[.kind] == kind.rawValue }
    }

    private func hasEntry(_ fixture: ControlFixture, of kind: AuditKind) async throws -> AuditEntry {
        try #require(
            try await eventually(within: .seconds(10)) { try await !entries(fixture, of: kind).isEmpty })
        return try await entries(fixture, of: kind)[0]
    }

    @Test func aTunnelHasItsVerdictAndItsEnd() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await ControlFixture.with { fixture in
            try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
            let identity = try await fixture.activated()
            let instance = try await fixture.data.entries().last { $0[.kind] == "activation" }?[.instance]
            let (tunnel, status) = try await fixture.connect(to: origin.port, as: identity)
            try #require(status == 200)
            let opened = try await hasEntry(fixture, of: .connect)
            #expect(opened[.outcome] == "opened" && opened[.target] == "127.0.0.1:\(origin.port)")
            #expect(opened[.instance] == instance && opened[.user] == "ann" && opened[.address] == "127.0.0.1")
            tunnel.send("hello")
            _ = try await tunnel.read(5)
            try await fixture.data.perform(.withdraw(instance: #require(instance), .lock))
            let ended = try await hasEntry(fixture, of: .tunnel)
            #expect(ended[.outcome] == "withdrawn" && ended[.sent] == "5" && ended[.received] == "5")
            #expect(ended[.milliseconds].flatMap { Int($0) } ?? -1 >= 0)
            #expect(ended[.entitlement] == "com.example.report")
        }
        try await origin.close()
    }

    @Test func theVerdictsOfItsGuardAreThere() async throws {
        let data = try await DataFixture()
        var configuration = Gateway.Configuration.loopback
        configuration.relayGuard = .init(path: "\(data.path)/guard.sock", port: nil)
        let gateway = Gateway(
            data: data.data, at: data.path, configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await gateway.run() }
        _ = try await gateway.listeners()
        let question = GuardQuestion(
            ends: SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: 2)),
            target: try Endpoint("127.0.0.1:1"), certificate: try await data.identity().certificates[0])
        guard case .refused = await GuardClient(path: "\(data.path)/guard.sock").ask(question) else {
            throw TestFailure("The guard refuses nothing.")
        }
        let isThere = try await eventually(within: .seconds(10)) {
            try await data.accessEntries().contains {
                $0[.kind] == "connect" && $0[.action] == "guard" && $0[.outcome] == "refused" && $0[.user] == "ann"
            }
        }
        #expect(isThere)
        await gateway.shutdown()
        try await running.value
    }

    @Test func refusalsAreThereWithTheirReason() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.connect(to: 1, as: identity).status == 403)
            let refused = try await hasEntry(fixture, of: .connect)
            #expect(refused[.outcome] == "http_request_denied" && refused[.user] == "ann")
            #expect(try await fixture.enroll(user: "ann", key: "a-wrong-key").status == 401)
            let wrong = try await hasEntry(fixture, of: .refusal)
            #expect(wrong[.action] == "activation" && wrong[.outcome] == "unauthorized")
            #expect(wrong[.source] == "127.0.0.1" && wrong[.actor] == "peer")
        }
    }

    @Test func theBeginningAndTheEndOfAGatewayAreThere() async throws {
        let data = try await DataFixture()
        try await ControlFixture.with(data) { fixture in _ = try await hasEntry(fixture, of: .start) }
        let again = try await AdministrationClient(
            data: data.path, protectedBy: .keyFile("\(data.path)/key"), through: TestFleet.databases
        ).open()
        let heads = try await again.store.auditHeads()
        let chain = await again.accessChain
        let rows = try await again.store.auditRows(
            of: chain, after: 0, through: #require(heads[chain]).number, limit: 10)
        #expect(rows.compactMap { $0.entry?[.kind] } == ["start", "stop"])
        let report = try await again.verifyAudit(against: nil)
        #expect(report.isSound && report.checkpoint != nil)
        await again.close()
    }

    @Test func theUserAtTheSocketIsTheActor() async throws {
        try await ControlFixture.with { fixture in
            let client = AdministrationClient(
                data: fixture.data.path, protectedBy: .keyFile("\(fixture.data.path)/key"))
            #expect(try await client.perform(.addUser("bob")) == .done)
            let entry = try #require(try await fixture.data.entries().last)
            #expect(entry[.actor] == "socket" && entry[.uid] == "\(geteuid())")
            #expect(entry[.account] == AdministrationAccess.accountName(geteuid()))
        }
    }

    @Test func aProgramAroundTheGatewayReadsAndVerifies() async throws {
        let data = try await DataFixture()
        let gateway = Gateway(
            data: data.data, at: data.path, configuration: .loopback, logger: .init(label: "test"))
        try await gateway.addUser("bob")
        let entries = try await gateway.auditEntries(limit: 2)
        #expect(entries.map { $0.fields["actor"] } == ["embedder", "embedder"])
        #expect(entries.map { $0.fields["action"] } == ["addUser", "audit.list"])
        let checkpoint = try await gateway.auditCheckpoint()
        #expect(try await gateway.verifyAudit(against: checkpoint).isSound)
        #expect(try await gateway.auditEntries(after: 1, limit: 1).map(\.number) == [2])
        await gateway.shutdown()
    }

    /// Keys, links, passwords, tokens and private keys that went through a gateway, looked for in everything that it tells.
    @Test func noSecretIsInTheTrail() async throws {
        try await ControlFixture.with { fixture in
            let link = try await fixture.data.link()
            let (password, token) = ("Correct-Horse-Battery", "eyJhbGciOiJFUzI1NiJ9")
            var secrets = [link.accessKey.reveal(), link.text, password, token, "BEGIN PRIVATE KEY"]
            _ = try await fixture.enroll(link)
            _ = try await fixture.enroll(user: "ann", key: password)
            let identity = try await fixture.activated()
            _ = try await fixture.get("/verifyGDAuthToken?token=\(token)", fields: [.authorization: token])
            let connection = try await fixture.connect(to: 1, as: identity).connection
            connection.close()
            for command: AdministrationCommand in [
                .configureApplication(entitlement: "com.example.report", text: password),
                .setPolicy(entitlement: "com.example.report", json: "{\"key\":\"\(password)\"}"),
                .setExtraInfo(entitlement: "com.example.report", json: "{\"key\":\"\(password)\"}"),
                .apply(
                    yaml: "apps:\n- id: com.example.report\n  config: \(password)\n", prune: false, dryRun: false,
                    confirmed: false),
                .apply(yaml: "\(password): 1", prune: false, dryRun: false, confirmed: false),
                .addUser("ann:\(password)"), .addServer(.init(endpoint: "https://ann:\(password)@a.example/")),
                .removeServer(endpoint: "https://ann:\(password)@a.example/"),
                .revokeKeys(.one(link.accessKey.reveal())),
                .revokeKeys(.one(link.text)), .setLease(password), .addRealm(name: "CORP", kdc: "a:\(password)"),
                .withdraw(instance: link.text, .lock), .invite(request: password), .blockTLS(version: password),
                .setRoute(domain: "https://ann:\(password)@a.example", route: "relay", ports: nil),
                .audit(.verify(checkpoint: password)), .issueKey(user: "ann", entitlement: "com.example.report"),
            ] {
                let reply = await fixture.data.data.perform(command)
                if case .link(let text) = reply { secrets.append(try ActivationLink(text).accessKey.reveal()) }
            }
            let isThere = try await eventually(within: .seconds(10)) {
                let connects = try await entries(fixture, of: .connect)
                let refusals = try await entries(fixture, of: .refusal)
                return !connects.isEmpty && !refusals.isEmpty
            }
            #expect(isThere)
            let all = try await fixture.data.entries() + fixture.data.accessEntries()
            let told = all.map { $0.json + SyslogLine.text(of: $0, host: "a", process: 1) }.joined()
            for secret in secrets { #expect(!told.contains(secret), "\(secret)") }
        }
    }
}
