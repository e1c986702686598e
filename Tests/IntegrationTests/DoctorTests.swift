import Foundation
import SallyportAuthorization
import SallyportCore
import SallyportReachability
import SallyportSecureStore
import SallyportTransport
import SallyportWire
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Each part up to the gateway that `doctor` checks is broken in turn: `doctor` names it, says what to do, and ends
/// with its exit status. ``DoctorWayTests`` covers what lies behind the gateway.
@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
    @Test func allIsWellAndNothingIsChanged() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let before = try await sallyport("store", "stat", "--store", store, "--json").output
        let url = "https://\(Intranet.name):\(intranet.port)"
        let (report, outcome) = try await doctor(store, url, "--ca", intranet.authorityFile)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.error)")
        #expect(report.findings.allSatisfy { $0.outcome == "ok" }, "\(outcome.output)")
        #expect(
            report.findings.map(\.check) == [
                "store", "activation", "certificate", "configuration", "lease", "name", "port", "authority", "clock",
                "identity", "status", "names", "relay", "server",
            ])
        #expect(try await sallyport("store", "stat", "--store", store, "--json").output == before)
        // In words, a line each.
        let words = try await sallyport("doctor", "--store", store)
        #expect(words.status == 0 && words.output.contains("ok      activation"))
        #expect(!words.output.contains("server "))
    }

    @Test func aStoreThatIsNotThereOrNotOursIsNamed() async throws {
        let site = try await Site.start()
        let (missing, none) = try await doctor(site.folder.file("nothing"))
        #expect(missing.failed == ["store"] && none.status == 64)
        #expect(!FileManager.default.fileExists(atPath: site.folder.file("nothing")))
        let store = try await site.activatedStore()
        let key = try site.folder.write(String(repeating: "k", count: 32), to: "other")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let (locked, wrong) = try await doctor(store, "--key-file", key)
        #expect(locked.failed == ["store"] && wrong.status == 74)
        // A gateway's own data is a store too, but not one of an app.
        let (foreign, gateway) = try await doctor(site.data)
        #expect(foreign.failed == ["store"] && gateway.status == 64, "\(gateway.output)")
        // What others may read is no key.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(store)/key")
        let (open, unsafe) = try await doctor(store)
        #expect(open.failed == ["store"] && unsafe.status != 0, "\(unsafe.output)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(store)/key")
        let files = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".mdb") }
        for file in files where !file.contains("lock") {
            try Data(repeating: 0x5a, count: 65536).write(to: URL(filePath: "\(store)/\(file)"))
        }
        let (damaged, torn) = try await doctor(store)
        #expect(!files.isEmpty && damaged.failed == ["store"] && torn.status == 74, "\(torn.output)")
    }

    @Test func aStoreWithoutAnActivationIsNamed() async throws {
        let folder = try TemporaryDirectory()
        let store = folder.file("app")
        let made = try await SecureStore.open(at: store, protectedBy: .keyFile("\(store)/key"))
        made.close()
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["activation"] && outcome.status == 77)
    }

    /// A gateway that is gone as soon as it has issued the certificate.
    private struct WithoutConfiguration: ControlClient {
        let client: TransportControlClient

        func send(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer {
            guard !request.target.hasPrefix(ControlAPI.Path.configuration) else {
                throw LoadError(.connectionLost, at: .response, "It is gone.")
            }
            return try await client.send(request)
        }
        func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream {
            try await client.open(request)
        }
        func retire(_ identity: ClientIdentity) { client.retire(identity) }
    }

    /// Activated, and nothing tells yet what the app may do.
    @Test func aStoreWithoutAConfigurationIsNamed() async throws {
        let site = try await Site.start()
        let (path, key) = (site.folder.file("app"), site.folder.file("key"))
        let store = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
        let transport = Transport()
        let authorization = try Authorization.open(
            store: store, application: nil, client: WithoutConfiguration(client: TransportControlClient(transport)),
            clock: SystemClock())
        #expect(try await authorization.activate(link: site.link()).state == .notAuthorized)
        await transport.shutdown()
        store.close()
        let (report, outcome) = try await doctor(path, "--key-file", key)
        #expect(report.warned == ["configuration"] && outcome.status == 0, "\(outcome.output)")
        #expect(report.advice.contains("start the app once") && report.outcomes(of: "lease") == ["skipped"])
        // What the gateway says is looked at all the same.
        #expect(report.outcomes(of: "status") == ["ok"] && report.outcomes(of: "relay") == ["ok"])
    }

    /// The program with a clock of its own: also the certificates of gateway and relay are judged by it.
    @Test(
        .enabled("takes faketime, and no sanitizer before it", ShiftedTime.isPossible),
        arguments: [
            ("+20m", ["clock"], 76, "systemd-timesyncd"),
            ("-20m", ["certificate", "clock", "relay"], 77, "set this machine's clock"),
            ("+8d", ["certificate", "lease", "clock"], 77, "start the app"),
            ("+100d", ["certificate", "lease", "clock", "relay"], 77, "activation link"),
        ] as [(String, [String], Int32, String)])
    func aWrongClockIsNamed(_ time: String, _ failed: [String], _ status: Int32, _ advice: String) async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let (report, outcome) = try await doctor(store, at: time)
        #expect(report.failed == failed && outcome.status == status, "\(outcome.output)")
        #expect(report.advice.contains(advice), "\(report.advice)")
        // No certificate is taken for another's where only its time is wrong.
        #expect(!failed.contains("relay") || report.message(of: "relay").contains("machine's time"))
    }

    /// This machine's time, so many seconds on.
    private struct ShiftedClock: AuthorizationClock {
        let seconds: Int64
        var wall: Int64 { SystemClock().wall + seconds }
        var uptime: Int64 { SystemClock().uptime }
        func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
    }

    private static let day: Int64 = 86_400

    /// The certificate holds for 7 days and the lease for 1. One gateway for all: looking changes nothing.
    @Test func timeIsLookedAt() async throws {
        let site = try await Site.start()
        let path = try await site.activatedStore()
        let store = try await SecureStore.open(
            at: path, protectedBy: .keyFile("\(path)/key"), options: .readOnly)
        defer { store.close() }
        let day = Self.day
        let cases: [(Int64, [String], [String], String)] = [
            (1200, ["clock"], [], "systemd-timesyncd"),
            (-1200, ["certificate", "clock"], [], "set this machine's clock"),
            (120, [], ["clock"], ""), (5 * day, ["lease", "clock"], ["certificate"], "reached its gateway"),
            (8 * day, ["certificate", "lease", "clock"], [], "start the app"),
            (40 * day, ["certificate", "lease", "clock"], [], "activation link"),
            (-2 * day, ["certificate", "clock"], [], "set this machine's clock"),
        ]
        for (seconds, failed, warned, advice) in cases {
            let clock = ShiftedClock(seconds: seconds)
            let stored = try StoredAuthorization.read(from: store, clock: clock)
            let findings = await Doctor(stored, clock: clock).examine([])
            let said: Comment = "\(seconds) s: \(findings)"
            #expect(findings.filter { $0.outcome == .failed }.map(\.check.rawValue) == failed, said)
            #expect(findings.filter { $0.outcome == .warning }.map(\.check.rawValue) == warned, said)
            let first = findings.first { $0.outcome == .failed }?.advice
            #expect(advice.isEmpty || first?.contains(advice) == true, said)
        }
    }

    @Test func aGatewayThatIsGoneOrAnotherIsNamed() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        try await site.stopGateway()
        let (gone, outcome) = try await doctor(store)
        #expect(gone.failed == ["port", "relay"] && outcome.status == 69, "\(outcome.output)")
        // Another gateway where the old one was.
        let other = site.folder.file("other")
        let made = try await sallyport("gateway", "init", "--data", other, "--name", "localhost")
        try #require(made.status == 0, "\(made.error)")
        try await site.startGateway(data: other)
        let (foreign, refused) = try await doctor(store)
        #expect(foreign.failed == ["authority", "relay"] && refused.status == 76, "\(refused.output)")
    }

    /// The relay of the gateway that has ended is gone too.
    @Test func aGatewayOfAFleetThatIsGoneIsNamedAndTheNextOneIsAsked() async throws {
        let fleet = try await Fleet.start()
        let first = try fleet.control(0) < fleet.control(1) ? 0 : 1
        let store = fleet.folder.file("app")
        let link = try await fleet.admin(first, "key", "issue", Site.user, Site.app)
        let activated = try await sallyport("activate", "-", "--store", store, input: link)
        try #require(activated.status == 0, "\(activated.error)")
        #expect(try await doctor(store).report.warned.isEmpty)
        fleet.gateways[first].signal(SIGTERM)
        _ = try await fleet.gateways[first].outcome(within: .seconds(30))
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["relay"] && report.warned == ["port"], "\(outcome.output)")
        #expect(report.message(of: "port").contains(try fleet.control(first)))
        for check in ["authority", "identity", "status"] { #expect(report.outcomes(of: check) == ["ok"]) }
    }

    /// It takes connections, and says nothing.
    @Test func aGatewayThatHangsIsNamed() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        try await site.gateway.pause()
        let (report, outcome) = try await doctor(store, "--max-time", "4")
        #expect(report.failed == ["port", "relay"] && outcome.status == 69, "\(outcome.output)")
        #expect(report.advice.contains("see that it runs"))
        site.gateway.signal(SIGCONT)
        #expect(try await doctor(store).outcome.status == 0)
    }

    @Test(.enabled("takes root and mount namespaces", HostNames.isAllowed))
    func aGatewayWhoseNameIsNotKnownIsNamed() async throws {
        let name = "gateway.corp.example"
        let site = try await Site.start(named: name)
        let store = site.folder.file("app")
        let known = try HostNames(["127.0.0.1 localhost \(name)"])
        let link = try await site.link()
        let activated = try await known.child(
            Programs.built("sallyport"), ["activate", "-", "--store", store], input: link
        ).outcome()
        try #require(activated.status == 0, "\(activated.error)")
        #expect(try await doctor(store, seeing: known).outcome.status == 0)
        let (report, outcome) = try await doctor(store, seeing: HostNames(["127.0.0.1 localhost"]))
        #expect(report.failed == ["name", "relay"] && outcome.status == 69, "\(outcome.output)")
        #expect(report.advice.contains("getent hosts \(name)"))
    }

    /// The gateway's data was restored from before the app was activated: it knows nothing of the instance.
    @Test func anInstanceThatTheGatewayDoesNotKnowIsNamed() async throws {
        let site = try await Site.start()
        try await site.stopGateway()
        let older = site.folder.file("older")
        try FileManager.default.copyItem(atPath: site.data, toPath: older)
        try await site.startGateway()
        let store = try await site.activatedStore()
        try await site.stopGateway()
        try await site.startGateway(data: older)
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["identity"] && outcome.status == 77, "\(outcome.output)")
        #expect(report.advice.contains("new activation link"))
    }

    @Test(arguments: [("block", "-301"), ("lock", "-303"), ("wipe", "-302")])
    func aWithdrawalIsNamedWithItsCode(_ order: String, _ code: String) async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        try await site.withdraw(order, try #require(try await site.instances().first).instance)
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["status"] && outcome.status == 77, "\(outcome.output)")
        #expect(report.findings.first { $0.check == "status" }?.message.contains(code) == true)
        // What the store says alone is another thing: nothing was kept.
        #expect(try await sallyport("status", "--store", store).output.contains("state: authorized"))
    }
}
