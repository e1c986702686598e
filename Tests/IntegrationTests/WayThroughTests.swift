import Foundation
import SallyportLoading
import TestSupport
import Testing

/// The main job: a page from a server that only the inside can reach.
@Suite struct WayThroughTests {
    @Test func aListedServerIsReachedThroughTheRelayOnly() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let outcome = try await site.fetch("\(intranet.url)/report.txt", store, "--ca", intranet.authorityFile)
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.output == "The figures of today.\n")
        let log = try await intranet.log(of: 1)
        #expect(log.last?.hasPrefix("\(Intranet.egress) \"GET /report.txt ") == true, "\(log)")
    }

    @Test func theAuthorityOfTheServerMustBeTrusted() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let outcome = try await site.fetch("\(intranet.url)/report.txt", store, "--json")
        #expect(outcome.status == 76)
        #expect(try outcome.failure().name == "serverNotTrusted")
    }

    @Test func anUnlistedServerIsRefusedBeforeAnyConnection() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let outcome = try await site.fetch("https://payroll.corp.example/", store, "--json")
        #expect(outcome.status == 77)
        #expect(try outcome.failure().name == "refusedByPolicy")
    }

    @Test func severalURLsShareOneSession() async throws {
        struct Report: Decodable {
            var status: Int
            var reused: Bool?
        }
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/report.txt"
        let outcome = try await sallyport(
            "fetch", url, "\(url)?again", "--store", store, "--ca", intranet.authorityFile, "--json")
        let reports = try outcome.json([Report].self)
        #expect(reports.map(\.status) == [200, 200])
        #expect(reports.map(\.reused) == [false, true])
    }

    @Test func aRecordTellsHowEachLoadWent() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let (url, file) = ("\(intranet.url)/report.txt", site.folder.file("records"))
        let arguments = ["fetch", url, url, "--store", store, "--record", file, "-v"]
        let untrusting = try await ChildProcess(Programs.built("sallyport"), arguments).outcome()
        #expect(untrusting.status == 76 && untrusting.error.contains("* end            serverNotTrusted after"))
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), arguments + ["--ca", intranet.authorityFile]
        ).outcome()
        #expect(outcome.error.contains("* hop 1          GET \(url): 200"), "\(outcome.error)")
        #expect(outcome.error.contains("through relay") && outcome.error.contains("used again"))
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let records = try lines.map { try JSONDecoder().decode(LoadRecord.self, from: Data($0.utf8)) }
        #expect(records.map(\.outcome) == ["serverNotTrusted", "complete", "complete"])
        let hop = try #require(records[1].hops.first)
        #expect(hop.route == "relay" && hop.connection.relay != nil && hop.connection.tls?.hasPrefix("TLSv1.") == true)
        #expect(hop.phases.relayTLS != nil && hop.phases.relay != nil && hop.phases.tls != nil)
        #expect(records[2].hops.first?.connection.isReused == true && records[2].hops.first?.phases.tls == nil)
        #expect(records[2].hops.first?.connection.tls == hop.connection.tls)
    }

    @Test func failTurnsAnHTTPErrorInto22() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/teapot"
        #expect(try await site.fetch(url, store, "--ca", intranet.authorityFile).status == 0)
        let failed = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--fail")
        #expect(failed.status == 22)
        #expect(failed.output.isEmpty)
    }

    @Test func redirectsAreFollowedUnlessRefused() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let url = "\(intranet.url)/away"
        let followed = try await site.fetch(url, store, "--ca", intranet.authorityFile)
        #expect(followed.output == "The figures of today.\n")
        let stayed = try await site.fetch(url, store, "--ca", intranet.authorityFile, "--no-redirect", "-i")
        #expect(stayed.output.contains("302"))
    }

    /// 1 GiB in `make soak`, 64 MiB otherwise.
    @Test func aLargeFileArrivesWhole() async throws {
        struct Report: Decodable { var sha256: String }
        let length = Soak.isOn ? 1 << 30 : 64 << 20
        let intranet = try await Intranet.start()
        let sum = try await intranet.addRandomFile("large.bin", length: length)
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let target = site.folder.file("large.bin")
        let outcome = try await site.fetch(
            "\(intranet.url)/large.bin", store, "--ca", intranet.authorityFile, "-o", target, "--json",
            limit: .seconds(240))
        try #require(outcome.status == 0, "\(outcome.error)")
        #expect(try outcome.json(Report.self).sha256 == sum)
        let stored = try await ChildProcess("/usr/bin/sha256sum", [target]).outcome()
        #expect(stored.output.hasPrefix("\(sum) "))
    }

    /// What had come before the process was killed is not loaded again.
    @Test func aDownloadThatWasKilledIsGoneOnWith() async throws {
        struct Report: Decodable { var sha256: String, status: Int }
        let intranet = try await Intranet.start()
        let sum = try await intranet.addRandomFile("large.bin", length: 256 << 20)
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let (url, target) = ("\(intranet.url)/large.bin", site.folder.file("large.bin"))
        let arguments = ["fetch", url, "--store", store, "--ca", intranet.authorityFile, "-o", target, "-C", "--json"]
        let child = try ChildProcess(Programs.built("sallyport"), arguments)
        let record = site.folder.file(".large.bin.resume")
        #expect(try await eventually { FileManager.default.fileExists(atPath: record) })
        child.signal(SIGKILL)
        _ = try await child.outcome()
        #expect(!FileManager.default.fileExists(atPath: target))
        let outcome = try await ChildProcess(Programs.built("sallyport"), arguments).outcome(within: .seconds(120))
        try #require(outcome.status == 0, "\(outcome.error)")
        let report = try outcome.json(Report.self)
        #expect(report.status == 206 && report.sha256 == sum)
    }
}
