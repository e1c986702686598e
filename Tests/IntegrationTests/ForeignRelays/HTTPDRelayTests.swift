import Foundation
import Glibc
import TestSupport
import Testing

/// Apache httpd as the relay of a cluster, with the site and the script of the guide.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "takes CAP_NET_ADMIN, and another user for httpd"))
struct HTTPDRelayTests {
    @Test func tunnelsAreJudgedAndEnded() async throws {
        let foreign = try await ForeignSite.start(askedBy: "www-data")
        let httpd = try await HTTPDRelay.start(foreign.setting, at: foreign.port)
        let client = try await foreign.client("one")
        let page = foreign.url("/report.txt", byAddress: true)
        #expect(try await foreign.status(page, as: client) == "200", "\(httpd.messages)")
        #expect(try await foreign.status("https://127.0.0.1:\(foreign.port)/", as: client) == "403")
        #expect(
            try await eventually { httpd.log.contains { $0.hasPrefix("200 \(client.instance) CONNECT") } },
            "\(httpd.log)")

        let loading = try await foreign.tunnel(client, byAddress: true)
        try await foreign.site.admin("lock", client.instance)
        let start = ContinuousClock.now
        #expect(try await eventually(within: Soak.second) { !loading.isRunning }, "\(httpd.messages)")
        print("A tunnel through httpd ended \(ContinuousClock.now - start) after the answer to the lock.")
        #expect(try await foreign.status(page, as: client) == "403")
        try await foreign.site.admin("unlock", client.instance)
        #expect(try await foreign.status(page, as: client) == "200")

        // Nothing can judge: apps are told to turn to another relay.
        try await foreign.site.gateway.pause()
        #expect(try await foreign.status(page, as: client) == "503")
        foreign.site.gateway.signal(SIGKILL)
        _ = try await foreign.site.gateway.outcome()
        let refused = try await foreign.load(page, as: client, "-v").outcome()
        #expect(refused.output.hasSuffix("503"), "\(refused.output)")
        #expect(refused.error.contains("Retry-After: 10"), "\(refused.error)")
    }

    /// A site from which the script was taken away refuses; it is no open proxy.
    @Test func withoutTheScriptNothingIsOpened() async throws {
        let foreign = try await ForeignSite.start(askedBy: "www-data")
        let httpd = try await HTTPDRelay.start(foreign.setting, at: foreign.port, asking: false)
        let client = try await foreign.client("one")
        let page = foreign.url("/report.txt", byAddress: true)
        #expect(try await foreign.status(page, as: client) == "403", "\(httpd.messages)")
    }

    /// It carries CONNECT and nothing else.
    @Test func otherMethodsAreRefused() async throws {
        let foreign = try await ForeignSite.start(askedBy: "www-data")
        let httpd = try await HTTPDRelay.start(foreign.setting, at: foreign.port)
        let client = try await foreign.client("one")
        let outcome = try await ChildProcess(
            "/usr/bin/env",
            [
                "curl", "-sS", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}", "--proxy",
                "https://localhost:\(foreign.port)", "--proxy-cacert", foreign.relayAuthority, "--proxy-cert",
                client.certificate, "--proxy-key", client.key, "http://\(Intranet.address):\(foreign.intranet.port)/",
            ]
        ).outcome()
        #expect(outcome.output == "403", "\(outcome.error)\(httpd.messages)")
    }
}
