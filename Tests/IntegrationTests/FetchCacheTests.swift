import TestSupport
import Testing

/// `fetch` and the cache: it is read only if requested, and only under the trust settings under which a response was
/// received.
@Suite(.timeLimit(.minutes(2))) struct FetchCacheTests {
    private struct Report: Decodable {
        var status: Int
        var route: String
        var cache: String
        var sha256: String
    }

    @Test func anAnswerHadWithAnAuthorityServesNoRunWithoutIt() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/cached.txt"
        let trusting = ["--ca", intranet.authorityFile, "--cache", "--json"]
        func fetch(_ options: [String]) async throws -> Outcome {
            try await ChildProcess(Programs.built("sallyport"), ["fetch", url, "--store", store] + options).outcome()
        }
        let first = try await fetch(trusting).json(Report.self)
        #expect(first.status == 200 && first.cache == "miss" && first.route == "relay")
        let second = try await fetch(trusting).json(Report.self)
        #expect(second.status == 200 && second.cache == "hit" && second.route == "relay")
        #expect(second.sha256 == first.sha256)
        #expect(try await intranet.log(of: 1).count == 1)
        for options in [["--cache"], []] {
            let refused = try await fetch(options + ["--json"])
            #expect(refused.status == 76)
            #expect(try refused.failure().name == "serverNotTrusted")
        }
    }

    @Test func withoutTheOptionEveryLoadAsksItsServer() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/cached.txt"
        for count in 1...2 {
            let outcome = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--json")
            let report = try outcome.json(Report.self)
            #expect(report.status == 200 && report.cache == "off" && report.route == "relay")
            #expect(try await intranet.log(of: count).count == count)
        }
        let kept = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--cache", "--json")
        #expect(try kept.json(Report.self).cache == "miss", "Nothing was stored.")
    }
}
