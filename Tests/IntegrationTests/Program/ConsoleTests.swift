import Foundation
import Glibc
import TestSupport
import Testing

/// `admin` as an administrator uses it: lists, and questions before a wipe.
@Suite(.timeLimit(.minutes(2))) struct ConsoleTests {
    private struct App: Decodable, Equatable {
        var entitlement: String
        var versions: [String]
        var users: Int
        var servers: Int
    }
    private struct Server: Decodable, Equatable {
        var endpoint: String
        var entitlement: String?
        var priority: Int?
        var route: String
        var address: String?
    }
    private struct Rule: Decodable, Equatable {
        var domain: String
        var route: String
        var ports: [Int]?
    }
    private struct Cluster: Decodable, Equatable {
        struct Relay: Decodable, Equatable {
            var endpoint: String
            var priority: Int
        }
        var name: String
        var relays: [Relay]
    }

    /// The same while the gateway runs and while it does not.
    @Test func whatWasDeclaredIsListed() async throws {
        let site = try await Site.start()
        try await site.admin("cluster", "set", "west", "r2.example:443,2", "r1.example:443")
        try await site.admin("server", "add", "a.corp.example:443", "--app", Site.app, "--address", "10.1.2.3")
        try await site.admin("server", "add", "b.corp.example:22", "--route", "relay:west")
        try await site.admin("route", "set", "corp.example", "relay", "--ports", "443")
        try await site.admin("route", "set", "10.0.0.0/8", "deny")
        for isRunning in [true, false] {
            if !isRunning { try await site.stopGateway() }
            #expect(
                try await site.admin("app", "list", "--json").json([App].self) == [
                    .init(entitlement: Site.app, versions: [Site.version], users: 1, servers: 1)
                ])
            #expect(
                try await site.admin("server", "list", "--json").json([Server].self) == [
                    .init(
                        endpoint: "a.corp.example:443", entitlement: Site.app, priority: 1, route: "relay",
                        address: "10.1.2.3"),
                    .init(endpoint: "b.corp.example:22", route: "relay:west"),
                ])
            #expect(
                try await site.admin("route", "list", "--json").json([Rule].self) == [
                    .init(domain: "corp.example", route: "relay", ports: [443]),
                    .init(domain: "10.0.0.0/8", route: "deny"),
                    .init(domain: "default", route: "deny", ports: [80, 443]),
                ])
            let clusters = try await site.admin("cluster", "list", "--json").json([Cluster].self)
            #expect(clusters.map(\.name) == ["main", "west"])
            #expect("127.0.0.1:\(clusters[0].relays[0].endpoint.split(separator: ":")[1])" == site.ready.relay)
            #expect(clusters[1].relays.map(\.endpoint) == ["r1.example:443", "r2.example:443"])
            let words = try await site.admin("server", "list").output
            #expect(words.hasPrefix("SERVER ") && words.contains("\nb.corp.example:22   -"), "\(words)")
        }
    }

    @Test func anInstanceIsListedWithItsLastContact() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        func lastContact() async throws -> Date {
            let text = try #require(try await site.instances().first).lastContact
            return try Date(text, strategy: .iso8601)
        }
        let activated = try await lastContact()
        #expect(abs(activated.timeIntervalSinceNow) < 60)
        let words = try await site.admin("instances").output
        #expect(words.contains("LAST CONTACT") && words.hasSuffix(" ago\n"), "\(words)")

        // Seconds are told.
        try await Task.sleep(for: .seconds(1.1))
        _ = try await sallyport("token", "get", "--store", store)
        let asked = try await lastContact()
        #expect(asked > activated)
        // What was fetched last is remembered by a gateway that is started again.
        try await site.stopGateway()
        #expect(try await lastContact() >= activated)
    }

    // MARK: Confirmation

    /// Runs a command at a terminal of its own, and types a line at its question. Prints what the terminal showed.
    private func atTerminal(typing answer: String, _ words: [String]) async throws -> Outcome {
        let script = """
            import os, pty, sys
            words = sys.argv[2:]
            child, terminal = pty.fork()
            if child == 0: os.execv(words[0], words)
            shown, is_asked = b"", False
            while True:
                try: part = os.read(terminal, 4096)
                except OSError: break
                if not part: break
                shown += part
                if not is_asked and b"[y/N] " in shown:
                    is_asked = True
                    os.write(terminal, sys.argv[1].encode())
            sys.stdout.write(shown.decode())
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 127)
            """
        return try await ChildProcess("/usr/bin/python3", ["-c", script, answer] + words).outcome(
            within: .seconds(30))
    }

    private func atTerminal(typing answer: String, _ site: Site, _ words: String...) async throws -> Outcome {
        try await atTerminal(
            typing: answer, [Programs.built("sallyport"), "admin"] + words + ["--data", site.data])
    }

    @Test func withoutATerminalAWipeMustBeConfirmedInAdvance() async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        let refused = try await site.tryAdmin(["wipe", instance])
        #expect(refused.status == 64)
        #expect(refused.error.contains("\(instance) of \(Site.user) (\(Site.app))"), "\(refused.error)")
        #expect(refused.error.contains("no terminal") && refused.error.contains("--yes"), "\(refused.error)")
        let told = try await site.tryAdmin(["wipe", instance, "--json"]).failure()
        #expect(told.name == "needsConfirmation" && told.message.contains("no terminal"))
        #expect(try await site.instances().map(\.status) == ["active"])
        try await site.admin("wipe", instance, "--yes")
        #expect(try await site.instances().map(\.status) == ["wiped"])
        // Nothing is left to confirm.
        #expect(try await site.tryAdmin(["wipe", instance, "--json"]).failure().name == "invalid")
        #expect(try await site.tryAdmin(["wipe", "unknown", "--json"]).failure().name == "notFound")
    }

    /// The pipe of `yes |` is no terminal: it confirms nothing.
    @Test func aPipeConfirmsNothing() async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        let piped = try await sallyport("admin", "wipe", instance, "--data", site.data, input: "y\ny\n")
        #expect(piped.status == 64)
        #expect(try await site.instances().map(\.status) == ["active"])
    }

    @Test(arguments: ["\n", "n\n", "no\n", "yess\n", "\u{4}"])
    func aTerminalAsksAndAnythingButYesDoesNothing(_ answer: String) async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        let asked = try await atTerminal(typing: answer, site, "wipe", instance)
        #expect(asked.status == 64, "\(asked.output)")
        #expect(asked.output.contains("This would wipe \(instance) of \(Site.user) (\(Site.app))"), "\(asked.output)")
        #expect(asked.output.contains("nothing was done"), "\(asked.output)")
        #expect(try await site.instances().map(\.status) == ["active"])
    }

    @Test(arguments: [["wipe"], ["user", "remove"]]) func aTerminalAsksAndYesDoesIt(_ words: [String]) async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        let target = words == ["wipe"] ? instance : Site.user
        let asked = try await atTerminal(
            typing: "Yes\n", [Programs.built("sallyport"), "admin"] + words + [target, "--data", site.data])
        #expect(asked.status == 0, "\(asked.output)")
        #expect(asked.output.contains("This would wipe \(instance)"), "\(asked.output)")
        #expect(try await site.instances().map(\.status) == ["wiped"])
    }
}
