import Foundation
import Glibc
import TestSupport
import Testing

/// `gateway run --guard` and `gateway acl-helper` as programs, without a relay.
@Suite(.timeLimit(.minutes(2)), .enabled(if: getuid() == 0, "takes root, to be another user"))
struct GuardProgramTests {
    private static let line =
        "7 127.0.0.1 4 127.0.0.1 3129 a.example 443 "
        + "-----BEGIN CERTIFICATE-----\\nAAEC\\n-----END CERTIFICATE-----\\n -\n"

    private func words(as user: uid_t, _ words: [String]) -> [String] {
        ["--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", "--", Programs.built("sallyport")] + words
    }

    private func help(as user: uid_t, _ socket: String, _ input: String) async throws -> Outcome {
        try await ChildProcess(
            "/usr/bin/setpriv", words(as: user, ["gateway", "acl-helper", "--guard", socket]), input: input
        ).outcome()
    }

    @Test func onlyTheUsersThatAreAllowedMayAsk() async throws {
        let site = try await Site.start()
        #expect(chmod(site.folder.path, 0o711) == 0)
        let socket = site.folder.file("guard.sock")
        try await site.stopGateway()
        try await site.startGateway("--guard", socket, "--allow-user", "65534", "--guard-port", "3129")
        let allowed = try await help(as: 65_534, socket, Self.line)
        #expect(allowed.status == 0)
        #expect(allowed.output == "7 ERR message=\"The certificate is not accepted.\"\n", "\(allowed.output)")
        let stranger = try await help(as: 65_533, socket, Self.line)
        #expect(stranger.output.hasPrefix("7 BH message=\"The guard closed the connection"), "\(stranger.output)")
        #expect(try await eventually { site.gateway.error.contains("65533") }, "\(site.gateway.error)")
    }

    @Test func eachLineIsAnsweredOnItsChannel() async throws {
        let folder = try TemporaryDirectory()
        let input = Self.line + "8 x\n" + Self.line.replacing("7 ", with: "9 ", maxReplacements: 1)
        let outcome = try await help(as: 0, folder.file("none.sock"), input)
        #expect(outcome.status == 0, "\(outcome.error)")
        let lines = outcome.output.split(separator: "\n").sorted()
        let expected = ["7 ERR sallyport=unavailable ", "8 BH ", "9 ERR sallyport=unavailable "]
        #expect(lines.count == 3 && zip(lines, expected).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
        let without = try await help(as: 0, folder.file("none.sock"), "no channel\n")
        #expect(without.status == 64 && without.output.isEmpty, "\(without.output)")
        #expect(without.error.contains("A line of Squid's does not begin with the number of a channel"))
    }

    @Test func withoutTheCapabilityTheStartFails() async throws {
        let folder = try TemporaryDirectory()
        #expect(chown(folder.path, 65_534, 65_534) == 0)
        let data = folder.file("gateway")
        let made = try await ChildProcess(
            "/usr/bin/setpriv", words(as: 65_534, ["gateway", "init", "--data", data, "--name", "localhost"])
        ).outcome()
        try #require(made.status == 0, "\(made.error)")
        let run = [
            "gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--guard",
            folder.file("guard.sock"),
        ]
        let refused = try await ChildProcess(
            "/usr/bin/setpriv", words(as: 65_534, run + ["--guard-port", "3129"])
        ).outcome()
        #expect(refused.status == 77, "\(refused.error)")
        #expect(refused.error.contains("CAP_NET_ADMIN") && refused.error.contains("--no-destroy"), "\(refused.error)")
        let judging = try ChildProcess("/usr/bin/setpriv", words(as: 65_534, run + ["--no-destroy"]))
        #expect(try await eventually(within: .seconds(30)) { judging.output.contains("guard ") })
        judging.signal(SIGTERM)
        #expect(try await judging.outcome().status == 0)
    }
}
