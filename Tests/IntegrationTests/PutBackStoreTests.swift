import Foundation
import TestSupport
import Testing

/// A store that is restored from an older copy, with the program and a running gateway.
@Suite struct PutBackStoreTests {
    @Test func aStoreThatIsPutBackIsLockedAtTheNextAuthorization() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let copy = site.folder.file("copy")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        let url = "\(intranet.url)/report.txt"
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
        try putBack(copy, to: store)
        let seen = try await intranet.log(of: 1).count
        let refused = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--json")
        #expect(refused.status == 77 && intranet.log.count == seen)
        #expect(try refused.failure().code == -303, "\(refused.error)")
        #expect(try await site.instances().map(\.status) == ["locked"])
        // Locked until the administrator confirms that it was intended.
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 77)
        try await site.admin("unlock", try #require(try await site.instances().first).instance)
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
    }

    @Test func aStoreThatIsReadAndUsedInTurnIsNotLocked() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/report.txt"
        for _ in 0..<4 {
            #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
            #expect(try await sallyport("status", "--store", store).status == 0)
            _ = try await doctor(store)
        }
        #expect(try await site.instances().map(\.status) == ["active"])
    }

    private func putBack(_ copy: String, to store: String) throws {
        try FileManager.default.removeItem(atPath: store)
        try FileManager.default.copyItem(atPath: copy, toPath: store)
    }
}
