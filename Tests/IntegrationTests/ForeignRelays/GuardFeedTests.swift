import Glibc
import TestSupport
import Testing

/// A guard as a process of its own, on a machine without a gateway: it follows the feed, as a relay does.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "takes CAP_NET_ADMIN, and another user for Squid"))
struct GuardFeedTests {
    private func withGuard(
        _ body: (ForeignSite, ChildProcess, ForeignSite.Client) async throws -> Void
    ) async throws {
        let foreign = try await ForeignSite.start(askedBy: "proxy", hasOwnGuard: true)
        let process = try #require(foreign.ownGuard)
        defer { process.signal(SIGKILL) }
        let squid = try await SquidRelay.start(foreign.setting, at: foreign.port)
        let client = try await foreign.client("one")
        // The feed brings what the guard judges by.
        let isServed = try await eventually(within: .seconds(20)) {
            try await foreign.status(foreign.url("/report.txt"), as: client) == "200"
        }
        #expect(isServed, "\(process.error)\(squid.messages)")
        try await body(foreign, process, client)
    }

    @Test func itJudgesAndEndsTunnelsAsTheFeedSays() async throws {
        try await withGuard { foreign, process, client in
            #expect(process.output == "ready: guard \(foreign.setting.socket)\n")
            #expect(try await foreign.status("https://other.corp.example/", as: client) == "403")
            let tunnel = try await foreign.tunnel(client)
            let locked = try await foreign.site.admin("lock", client.instance)
            #expect(locked.output.contains("in force at 1 of 1 relay after "), "\(locked.output)")
            #expect(try await eventually(within: Soak.second) { !tunnel.isRunning }, "\(process.error)")
            #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "403")
        }
    }

    /// What nothing judges any more does not stay open.
    @Test func itsEndEndsTheTunnels() async throws {
        try await withGuard { foreign, process, client in
            let tunnel = try await foreign.tunnel(client)
            process.signal(SIGTERM)
            #expect(try await process.outcome(within: .seconds(20)).status == 0)
            #expect(try await eventually(within: Soak.second) { !tunnel.isRunning })
            #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "503")
        }
    }
}
