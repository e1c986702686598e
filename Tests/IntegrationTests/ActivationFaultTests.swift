import Foundation
import TestSupport
import Testing

/// What goes wrong when an app is activated, and how it is told.
@Suite struct ActivationFaultTests {
    @Test func aKeyActivatesOnce() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let first = try await site.activate(link, into: site.folder.file("one"))
        #expect(first.status == 0, "\(first.error)")
        let second = try await site.activate(link, into: site.folder.file("two"))
        #expect(second.status == 77)
        #expect(try second.failure().code == -602)
        #expect(try second.failure().message.contains("used already"), "\(second.error)")
        #expect(!FileManager.default.fileExists(atPath: site.folder.file("two")))
        #expect(try await site.instances().count == 1)
    }

    @Test func anExpiredLinkSaysSo() async throws {
        guard await ShiftedTime.isPossible() else { return }
        let site = try await Site.start()
        let link = try await site.link()
        try await site.stopGateway()
        let late = try ShiftedTime.child(
            "+25h", Programs.built("sallyport"),
            ["gateway", "run", "--data", site.data, "--control", site.ready.control, "--relay", site.ready.relay])
        try #require(try await eventually(within: .seconds(30)) { !late.output.isEmpty || !late.isRunning })
        let refused = try await site.activate(link, into: site.folder.file("app"))
        #expect(refused.status == 77)
        #expect(try refused.failure().code == -602)
        #expect(try refused.failure().message.contains("expired"), "\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: site.folder.file("app")))
        late.signalGroup(SIGTERM)
        _ = try await late.outcome(within: .seconds(30))
    }

    @Test func aWrongKeyIsRefusedAndDoesNotConsumeTheRightOne() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let wrong = link.replacing(/key=[^&]*/, with: "key=AAAAAAAAAAAAAAAAAAAAAA")
        let refused = try await site.activate(wrong, into: site.folder.file("one"))
        #expect(refused.status == 77)
        #expect(try refused.failure().code == -602)
        #expect(!FileManager.default.fileExists(atPath: site.folder.file("one")))
        let accepted = try await site.activate(link, into: site.folder.file("two"))
        #expect(accepted.status == 0, "\(accepted.error)")
    }

    /// The wrong tries come from the same address as the valid ones.
    @Test func wrongAttemptsDoNotDelayValidOnes() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let outcomes = try await withThrowingTaskGroup(of: (right: Bool, outcome: Outcome).self) { group in
            for number in 0..<4 {
                let wrong = link.replacing(/key=[^&]*/, with: "key=WRONG\(number)")
                group.addTask { (false, try await site.activate(wrong, into: site.folder.file("wrong\(number)"))) }
            }
            for number in 0..<4 {
                let right = try await site.link()
                group.addTask { (true, try await site.activate(right, into: site.folder.file("right\(number)"))) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter(\.right).allSatisfy { $0.outcome.status == 0 }, "\(outcomes.map(\.outcome.error))")
        // They are slowed, not refused: each is told in the end what is wrong.
        for (_, outcome) in outcomes.filter({ !$0.right }) { #expect(try outcome.failure().code == -602) }
        #expect(try await site.instances().count == 4)
    }

    /// The program must not remove what was there before.
    @Test func aDirectoryThatWasThereStays() async throws {
        let site = try await Site.start()
        let wrong = try await site.link().replacing(/key=[^&]*/, with: "key=AAAAAAAAAAAAAAAAAAAAAA")
        let attributes = [FileAttributeKey.posixPermissions: 0o700]
        try FileManager.default.createDirectory(
            atPath: site.folder.file("kept"), withIntermediateDirectories: false, attributes: attributes)
        let note = try site.folder.write("mine", to: "kept/note")
        #expect(try await site.activate(wrong, into: site.folder.file("kept")).status == 77)
        #expect(FileManager.default.fileExists(atPath: note))
    }

    @Test func oneOfTwoUsesAtOnceWins() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        async let one = site.activate(link, into: site.folder.file("one"))
        async let two = site.activate(link, into: site.folder.file("two"))
        let statuses = try await [one.status, two.status].sorted()
        #expect(statuses == [0, 77])
        #expect(try await site.instances().count == 1)
    }

    @Test func anUnreachableGatewayIsTriedThreeTimes() async throws {
        let folder = try TemporaryDirectory()
        let fingerprint = String(repeating: "A", count: 43)
        // There is no server on port 9 (discard) of the loopback interface.
        let link = "sallyport://127.0.0.1:9/?ca=\(fingerprint)&user=ann&key=k"
        let start = ContinuousClock.now
        let outcome = try await sallyport(
            "activate", "-", "--store", folder.file("app"), "--json", input: link)
        #expect(outcome.status == 69)
        #expect(try outcome.failure().code == -601)
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(!FileManager.default.fileExists(atPath: folder.file("app")))
    }

    @Test func aWrongFingerprintIsRefusedBeforeTheKeyIsSent() async throws {
        let site = try await Site.start(logLevel: "trace")
        let link = try await site.link()
        let wrong = link.replacing(/ca=[^&]*/, with: "ca=\(String(repeating: "A", count: 43))")
        let refused = try await site.activate(wrong, into: site.folder.file("one"))
        #expect(refused.status == 76)
        #expect(!FileManager.default.fileExists(atPath: site.folder.file("one")))
        #expect(try await site.instances().isEmpty)
        // The key was not used up, and still activates.
        #expect(try await site.activate(link, into: site.folder.file("two")).status == 0)
    }

    @Test(arguments: [
        "", "https://localhost/", "sallyport://localhost:1/", "sallyport://localhost:1/?ca=AA&user=a&key=b",
        "sallyport://localhost:1/?ca=%@&user=a&key=b&key=c",
    ])
    func malformedLinksAreUsageErrors(link: String) async throws {
        let folder = try TemporaryDirectory()
        let outcome = try await sallyport("activate", "-", "--store", folder.file("app"), "--json", input: link)
        #expect(outcome.status == 64, "\(outcome.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("app/key")))
    }
}
