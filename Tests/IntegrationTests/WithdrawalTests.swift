import Foundation
import TestSupport
import Testing

/// What an administrator takes away, and what the app then sees.
@Suite struct WithdrawalTests {
    @Test(arguments: [("wipe", -302), ("lock", -303), ("block", -301)])
    func theNextFetchEndsWithItsResultCode(order: String, code: Int) async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/report.txt"
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
        let instance = try #require(try await site.instances().first).instance
        try await site.withdraw(order, instance)
        let seen = try await intranet.log(of: 1).count
        let refused = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--json")
        #expect(refused.status == 77)
        #expect(try refused.failure().code == code, "\(refused.error)")
        #expect(intranet.log.count == seen)
    }

    @Test func aBlockThatEndsLetsTheAppGoOn() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        try await site.admin("block", instance)
        let url = "\(intranet.url)/report.txt"
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 77)
        try await site.admin("unblock", instance)
        let again = try await site.fetch(url, store, "--ca", intranet.authorityFile)
        #expect(again.status == 0, "\(again.error)")
    }

    @Test func aServerThatIsTakenAwayIsRefused() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/report.txt"
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
        try await site.admin("server", "remove", "\(Intranet.name):\(intranet.port)")
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 77)
    }

    @Test func wipingNeedsConfirmation() async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let asked = try await site.tryAdmin(["user", "remove", Site.user, "--json"])
        #expect(asked.status == 64)
        #expect(try asked.failure().name == "needsConfirmation")
        #expect(try await site.instances().map(\.status) == ["active"])
        try await site.admin("user", "remove", Site.user, "--yes")
    }

    @Test func aUserOfTheSameNameInheritsNothing() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let unused = try await site.link()
        let url = "\(intranet.url)/report.txt"
        try await site.admin("user", "remove", Site.user, "--yes")
        try await site.admin("user", "add", Site.user)
        try await site.admin("entitle", Site.user, Site.app, Site.version)
        #expect(try await site.instances().map(\.status) == ["wiped"])
        let refused = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--json")
        #expect(refused.status == 77)
        #expect(try refused.failure().code == -302, "\(refused.error)")
        #expect(try await site.activate(unused, into: site.folder.file("late")).status == 77)
        #expect(intranet.log.count == 0)
        let own = try await site.activatedStore("own")
        #expect(try await site.fetch(url, own, "--ca", intranet.authorityFile).status == 0)
    }

    @Test func keysAreListedAndRevoked() async throws {
        struct Key: Decodable {
            var id: String
            var user: String
            var state: String
            var expires: String
        }
        struct Revoked: Decodable { var revoked: Int }
        let site = try await Site.start()
        let link = try await site.link()
        let shown = try await site.admin("key", "list", "--user", Site.user, "--json")
        let key = try #require(try shown.json([Key].self).first)
        #expect(key.user == Site.user && key.state == "unused" && key.expires.hasSuffix("Z"))
        let secret = try #require(link.firstMatch(of: /key=([^&]*)/)).output.1
        #expect(!shown.output.contains(secret))
        #expect(try await site.admin("key", "list").output.contains(key.id))
        #expect(try await site.admin("key", "revoke", key.id, "--json").json(Revoked.self).revoked == 1)
        #expect(try await site.admin("key", "list", "--json").json([Key].self).isEmpty)
        let refused = try await site.activate(link, into: site.folder.file("app"))
        #expect(refused.status == 77)
        #expect(try refused.failure().message.contains("not accepted"), "\(refused.error)")
        #expect(try await site.tryAdmin(["key", "revoke", key.id]).status == 64)
    }

    @Test func theOutputOfShowCanBeApplied() async throws {
        struct Changes: Decodable { var changes: [String] }
        let site = try await Site.start()
        try await site.admin("route", "set", "corp.example", "relay", "--ports", "443,8443")
        try await site.admin("tls", "floor", "1.3")
        let shown = try await site.admin("show").output
        let file = try site.folder.write(shown, to: "shown.yaml")
        let applied = try await site.admin("apply", "-f", file, "--prune", "--json")
        #expect(try applied.json(Changes.self).changes.isEmpty)
        #expect(try await site.admin("show").output == shown)
    }
}
