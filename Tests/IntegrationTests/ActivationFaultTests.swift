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
        #expect(try await site.instances().count == 1)
    }

    @Test func aWrongKeyIsRefusedAndDoesNotConsumeTheRightOne() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let wrong = link.replacing(/key=[^&]*/, with: "key=AAAAAAAAAAAAAAAAAAAAAA")
        let refused = try await site.activate(wrong, into: site.folder.file("one"))
        #expect(refused.status == 77)
        #expect(try refused.failure().code == -602)
        let accepted = try await site.activate(link, into: site.folder.file("two"))
        #expect(accepted.status == 0, "\(accepted.error)")
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
        // Port 9 (discard) is served by nobody on loopback.
        let link = "sallyport://127.0.0.1:9/?ca=\(fingerprint)&user=ann&key=k"
        let start = ContinuousClock.now
        let outcome = try await sallyport(
            "activate", "-", "--store", folder.file("app"), "--json", input: link)
        #expect(outcome.status == 69)
        #expect(try outcome.failure().code == -601)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func aWrongFingerprintIsRefusedBeforeTheKeyIsSent() async throws {
        let site = try await Site.start(logLevel: "trace")
        let link = try await site.link()
        let wrong = link.replacing(/ca=[^&]*/, with: "ca=\(String(repeating: "A", count: 43))")
        let refused = try await site.activate(wrong, into: site.folder.file("one"))
        #expect(refused.status == 76)
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
