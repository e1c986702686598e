import Foundation
import Glibc
import TestSupport
import Testing

/// Squid as the relay of a cluster, with the configuration of the guide, a certificate from elsewhere and the gateway's
/// guard beside it.
@Suite(.timeLimit(.minutes(5)), .enabled(if: getuid() == 0, "takes CAP_NET_ADMIN, and another user for Squid"))
struct SquidRelayTests {
    private func start() async throws -> (ForeignSite, SquidRelay) {
        let site = try await ForeignSite.start(askedBy: "proxy")
        return (site, try await SquidRelay.start(site.setting, at: site.port))
    }

    @Test func anAppLoadsThroughIt() async throws {
        let (foreign, squid) = try await start()
        let store = try await foreign.site.activatedStore()
        let loaded = try await foreign.site.fetch(
            foreign.url("/report.txt"), store, "--ca", foreign.intranet.authorityFile)
        #expect(loaded.status == 0 && loaded.output.contains("figures"), "\(loaded.error)\(squid.messages)")
        let instance = try #require(try await foreign.site.instances().first).instance
        #expect(try await eventually { squid.log.contains { $0.contains("200 CONNECT") && $0.contains(instance) } })
    }

    /// The gateway's own authority is not asked for where a cluster has one.
    @Test func anAppTrustsNoOtherAuthority() async throws {
        let (foreign, squid) = try await start()
        let store = try await foreign.site.activatedStore()
        let other = try foreign.site.folder.write(try TestAuthority(name: "Other").pem, to: "other.pem")
        try await foreign.site.admin("cluster", "set", "foreign", "localhost:\(foreign.port)", "--authority", other)
        let options = ["--ca", foreign.intranet.authorityFile, "--json"]
        let refused = try await foreign.site.fetch(
            foreign.url("/report.txt"), store, options[0], options[1], options[2])
        #expect(refused.status == 76, "\(refused.output)\(refused.error)")
        #expect(try refused.failure().name == "relayNotTrusted", "\(refused.error)")
        try await foreign.site.admin("cluster", "set", "foreign", "localhost:\(foreign.port)")
        let again = try await foreign.site.fetch(foreign.url("/report.txt"), store, options[0], options[1], options[2])
        #expect(try again.failure().name == "relayNotTrusted", "\(again.error)\(squid.messages)")
    }

    @Test func eachConnectIsJudgedByThePresentPolicy() async throws {
        let (foreign, squid) = try await start()
        let client = try await foreign.client("one")
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "200", "\(squid.messages)")
        // What the policy does not relay.
        for url in [
            "https://other.corp.example/", "https://\(Intranet.name):444/", "https://127.0.0.1:\(foreign.port)/",
        ] {
            #expect(try await foreign.status(url, as: client) == "403", "\(url)")
        }
        try await foreign.site.admin("block", client.instance)
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "403")
        try await foreign.site.admin("unblock", client.instance)
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "200")
        let isLogged = try await eventually {
            squid.log.contains { $0.contains("200 CONNECT") && $0.contains(client.instance) }
        }
        #expect(isLogged, "\(squid.log)")
    }

    /// Squid refuses these unless its configuration says otherwise.
    @Test(arguments: ["tls1_2", "tls1_3"]) func aResumedSessionIsJudgedToo(version: String) async throws {
        let (foreign, squid) = try await start()
        let client = try await foreign.client("one")
        let allowed = try await foreign.resumed(version, as: client)
        #expect(allowed.contains("Reused"), "\(allowed)\(squid.messages)")
        #expect(allowed.components(separatedBy: "HTTP/1.1 200").count == 3, "\(allowed)\(squid.messages)")
        try await foreign.site.admin("block", client.instance)
        let refused = try await foreign.resumed(version, as: client)
        #expect(refused.components(separatedBy: "HTTP/1.1 403").count == 3, "\(refused)\(squid.messages)")
    }

    @Test func aTunnelEndsWithinASecondOfALock() async throws {
        let (foreign, squid) = try await start()
        let (client, other) = (try await foreign.client("one"), try await foreign.client("two"))
        let (loading, staying) = (try await foreign.tunnel(client), try await foreign.tunnel(other))
        try await foreign.site.admin("lock", client.instance)
        let start = ContinuousClock.now
        #expect(try await eventually(within: Soak.second) { !loading.isRunning }, "\(squid.messages)")
        print("A tunnel through Squid ended \(ContinuousClock.now - start) after the answer to the lock.")
        #expect(try await loading.outcome().status != 0)
        #expect(staying.isRunning)
        // The server that a tunnel leads to may be taken away too.
        try await foreign.site.admin("server", "remove", "\(Intranet.name):\(foreign.intranet.port)")
        #expect(try await eventually(within: Soak.second) { !staying.isRunning })
    }

    @Test func withoutTheGuardNothingIsOpened() async throws {
        let (foreign, squid) = try await start()
        let client = try await foreign.client("one")
        let loading = try await foreign.tunnel(client)
        foreign.site.gateway.signal(SIGKILL)
        _ = try await foreign.site.gateway.outcome()
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "503")
        // Nothing can end it now; the next guard does, since it does not know whose it is.
        #expect(loading.isRunning)
        try await foreign.startGateway()
        #expect(try await eventually(within: Soak.second * 2) { !loading.isRunning }, "\(squid.messages)")
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "200")
    }

    @Test func aGuardThatIsStoppedRefusesInTime() async throws {
        let (foreign, squid) = try await start()
        let client = try await foreign.client("one")
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "200")
        try await foreign.site.gateway.pause()
        let start = ContinuousClock.now
        #expect(try await foreign.status(foreign.url("/report.txt"), as: client) == "503")
        let time = ContinuousClock.now - start
        foreign.site.gateway.signal(SIGCONT)
        // A question has two seconds, which include the start of the program that asks.
        #expect(time > .seconds(1) && time < .seconds(20), "\(time)")
        #expect(
            try await eventually(within: .seconds(20)) {
                try await foreign.status(foreign.url("/report.txt"), as: client) == "200"
            }, "\(squid.messages)")
    }

    @Test func aGuardThatEndsEndsItsTunnels() async throws {
        let (foreign, squid) = try await start()
        let loading = try await foreign.tunnel(foreign.client("one"))
        try await foreign.site.stopGateway()
        #expect(try await eventually(within: Soak.second * 2) { !loading.isRunning }, "\(squid.messages)")
    }
}
