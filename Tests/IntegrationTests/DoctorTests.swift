import Foundation
import SallyportAuthorization
import SallyportCore
import SallyportReachability
import SallyportSecureStore
import TestSupport
import Testing

/// Each thing that `doctor` looks at, broken by itself: it names that, says what to do, and ends as documented.
@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
    private struct Report: Decodable {
        struct Finding: Decodable {
            var check: String
            var outcome: String
            var message: String
            var advice: String?
        }
        var sound: Bool
        var findings: [Finding]

        func outcomes(of check: String) -> [String] { findings.filter { $0.check == check }.map(\.outcome) }
        /// Those that failed.
        var failed: [String] { findings.filter { $0.outcome == "failed" }.map(\.check) }
    }

    private func doctor(
        _ store: String, _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> (report: Report, outcome: Outcome) {
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), ["doctor", "--store", store, "--json"] + arguments, environment: environment
        ).outcome()
        let report = try outcome.json(Report.self)
        // Who fails says what to do.
        #expect(report.findings.allSatisfy { $0.outcome != "failed" || $0.advice?.isEmpty == false })
        #expect(report.sound == report.failed.isEmpty && report.sound == (outcome.status == 0))
        return (report, outcome)
    }

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
    }

    @Test func aStoreWithoutAnActivationIsNamed() async throws {
        let folder = try TemporaryDirectory()
        let store = folder.file("app")
        let port = LoopbackPort.free()
        let ca = String(repeating: "A", count: 43)
        let link = "sallyport://localhost:\(port)/?ca=\(ca)&user=ann&key=abcdefgh"
        let activated = try await ChildProcess(
            Programs.built("sallyport"), ["activate", "-", "--store", store], input: link
        ).outcome()
        try #require(activated.status == 69, "\(activated.error)")
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["activation"] && outcome.status == 77)
    }

    /// This machine's time, so many seconds on.
    private struct ShiftedClock: AuthorizationClock {
        let seconds: Int64
        var wall: Int64 { SystemClock().wall + seconds }
        var uptime: Int64 { SystemClock().uptime }
        func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
    }

    private static let day: Int64 = 86_400

    /// The certificate holds for 7 days and the lease for 1.
    @Test(
        arguments: [
            (1200, ["clock"], [], "systemd-timesyncd"),
            (-1200, ["certificate", "clock"], [], "set this machine's clock"),
            (120, [], ["clock"], ""), (5 * day, ["lease", "clock"], ["certificate"], "reached its gateway"),
            (8 * day, ["certificate", "lease", "clock"], [], "start the app"),
            (40 * day, ["certificate", "lease", "clock"], [], "activation link"),
            (-2 * day, ["certificate", "clock"], [], "set this machine's clock"),
        ] as [(Int64, [String], [String], String)])
    func timeIsLookedAt(_ seconds: Int64, _ failed: [String], _ warned: [String], _ advice: String) async throws {
        let site = try await Site.start()
        let path = try await site.activatedStore()
        let store = try await SecureStore.open(
            at: path, protectedBy: .keyFile("\(path)/key"), options: .readOnly)
        defer { store.close() }
        let clock = ShiftedClock(seconds: seconds)
        let stored = try StoredAuthorization.read(from: store, clock: clock)
        let findings = await Doctor(stored, clock: clock).examine([])
        #expect(findings.filter { $0.outcome == .failed }.map(\.check.rawValue) == failed, "\(findings)")
        #expect(findings.filter { $0.outcome == .warning }.map(\.check.rawValue) == warned, "\(findings)")
        #expect(advice.isEmpty || findings.first { $0.outcome == .failed }?.advice?.contains(advice) == true)
    }

    @Test func aGatewayThatIsGoneOrAnotherIsNamed() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        site.gateway.signal(SIGTERM)
        _ = try await site.gateway.outcome(within: .seconds(30))
        let (gone, outcome) = try await doctor(store)
        #expect(gone.failed == ["port", "relay"] && outcome.status == 69, "\(outcome.output)")
        // Another gateway where the old one was.
        let other = site.folder.file("other")
        let made = try await sallyport("gateway", "init", "--data", other, "--name", "localhost")
        try #require(made.status == 0, "\(made.error)")
        let impostor = try ChildProcess(
            Programs.built("sallyport"),
            [
                "gateway", "run", "--data", other, "--control", site.ready.control, "--relay", site.ready.relay,
                "--json",
            ])
        try #require(
            try await eventually(within: .seconds(30)) { impostor.output.hasSuffix("\n") || !impostor.isRunning })
        let (foreign, refused) = try await doctor(store)
        #expect(foreign.failed == ["authority", "relay"] && refused.status == 76, "\(refused.output)\(impostor.error)")
        impostor.signal(SIGTERM)
    }

    @Test(arguments: [("block", "-301"), ("lock", "-303"), ("wipe", "-302")])
    func aWithdrawalIsNamedWithItsCode(_ order: String, _ code: String) async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        try await site.admin(order, try #require(try await site.instances().first).instance)
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["status"] && outcome.status == 77, "\(outcome.output)")
        #expect(report.findings.first { $0.check == "status" }?.message.contains(code) == true)
        // What the store says alone is another thing: nothing was kept.
        #expect(try await sallyport("status", "--store", store).output.contains("state: authorized"))
    }

    @Test func aRelayThatIsNotThereIsNamed() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let port = LoopbackPort.free()
        try await site.admin("cluster", "set", "branch", "localhost:\(port)")
        let (report, outcome) = try await doctor(store)
        #expect(report.failed == ["relay"] && outcome.status == 69, "\(outcome.output)")
        #expect(report.outcomes(of: "relay").sorted() == ["failed", "ok"])
    }

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
        #expect(try await sallyport("doctor", "nonsense", "--store", store).status == 64)
    }
}
