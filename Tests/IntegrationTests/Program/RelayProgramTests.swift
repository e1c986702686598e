import Foundation
import SallyportBase
import TestSupport
import Testing

/// A relay on a machine of its own, by the program: two processes, and an app that reaches a server through the second.
@Suite(.timeLimit(.minutes(4))) struct RelayProgramTests {
    private struct Ready: Decodable { var relay: String }
    private struct Relay: Decodable {
        var name: String
        var port: UInt16?
    }
    private struct InForce: Decodable {
        struct Relays: Decodable {
            var inForce: Int
            var relays: Int
            var milliseconds: Int
        }
        var done: Bool
        var relays: Relays
    }

    /// A control gateway, and the process of a relay that follows it.
    private struct Fleet {
        let intranet: Intranet
        let site: Site
        let relay: ChildProcess
        let folder: String
        let store: String

        func fetch() async throws -> Outcome {
            try await site.fetch("\(intranet.url)/report.txt", store, "--ca", intranet.authorityFile)
        }
    }

    private func words(_ arguments: String...) async throws -> String {
        let outcome = try await ChildProcess(Programs.built("sallyport"), arguments).outcome()
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func with(_ options: String..., body: (Fleet) async throws -> Void) async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        try await site.stopGateway()
        try await site.startGateway("--role", "control")
        let folder = site.folder.file("relay")
        let request = try await words(
            "gateway", "join", "--role", "relay", "--name", "relay.localhost", "--data", folder)
        let invitation = try await words("gateway", "invite", request, "--data", site.data)
        #expect(try await words("gateway", "join", invitation, "--data", folder).contains("relay.localhost"))
        let relay = try ChildProcess(
            Programs.gateway,
            [
                "gateway", "run", "--role", "relay", "--data", folder, "--relay", "127.0.0.1:0", "--egress",
                Intranet.egress, "--json",
            ] + options)
        defer { relay.signal(SIGKILL) }
        let isReady = try await eventually(within: .seconds(30)) {
            relay.output.hasSuffix("\n") || !relay.isRunning
        }
        try #require(isReady && relay.isRunning, "\(relay.error)")
        let isListed = try await eventually(within: .seconds(20)) {
            try await site.admin("relay", "list", "--json").json([Relay].self).first?.port != nil
        }
        try #require(isListed, "\(relay.error)")
        try await body(
            Fleet(
                intranet: intranet, site: site, relay: relay, folder: folder,
                store: site.activatedStore()))
    }

    @Test func anAppReachesItsServerThroughItUntilItIsLocked() async throws {
        try await with { fleet in
            let fetched = try await fleet.fetch()
            #expect(fetched.status == 0 && fetched.output.contains("figures"), "\(fetched.error)")
            #expect(fleet.intranet.log.allSatisfy { $0.hasPrefix(Intranet.egress) })
            let listed = try await fleet.site.admin("relay", "list").output
            #expect(listed.contains("IN FORCE") && listed.contains("LAST ANSWER") && listed.contains("relay.localhost"))
            let slow = try ChildProcess(
                Programs.built("sallyport"),
                [
                    "fetch", "\(fleet.intranet.url)/slow", "--store", fleet.store, "--ca",
                    fleet.intranet.authorityFile,
                ])
            defer { slow.signal(SIGKILL) }
            #expect(try await eventually(within: .seconds(30)) { slow.output.contains("slow and steady") })
            #expect(slow.isRunning, "\(slow.error)")
            let instance = try #require(try await fleet.site.instances().first).instance
            let start = ContinuousClock.now
            // The command waits for a second, which may be too short on a busy machine.
            var locked = ""
            let isInForce = try await eventually {
                locked = try await fleet.site.admin("lock", instance).output
                return locked.contains("locked \(instance); in force at 1 of 1 relay after ")
            }
            #expect(isInForce, "\(locked)")
            #expect(try await eventually(within: .seconds(10)) { !slow.isRunning })
            // The start of the program that gives the command is in it.
            #expect(start.duration(to: .now) < .seconds(15))
            #expect(try await fleet.fetch().status == 77)
            let isTold = try await eventually {
                let json = try await fleet.site.admin("block", instance, "--json").json(InForce.self)
                return json.done && json.relays.inForce == 1 && json.relays.relays == 1
            }
            #expect(isTold)
        }
    }

    private static func isReady(at port: UInt16) async throws -> Bool {
        let arguments = ["curl", "-sfm", "5", "--noproxy", "*", "http://127.0.0.1:\(port)/health/ready"]
        return try await ChildProcess("/usr/bin/env", arguments).outcome().status == 0
    }

    @Test func aRelayThatIsCutOffRefusesAfterItsLease() async throws {
        let port = LoopbackPort.free()
        try await with("--relay-lease", "30s", "--metrics", "127.0.0.1:\(port)") { fleet in
            #expect(fleet.relay.output.contains("\"metrics\":\"127.0.0.1:\(port)\""), "\(fleet.relay.output)")
            #expect(try await fleet.fetch().status == 0)
            #expect(try await eventually { try await Self.isReady(at: port) })
            let instance = try #require(try await fleet.site.instances().first).instance
            fleet.site.gateway.signal(SIGSTOP)
            defer { fleet.site.gateway.signal(SIGCONT) }
            let isOver = try await eventually(within: .seconds(60)) {
                fleet.relay.error.contains("no word from the control gateways: everything is refused")
            }
            #expect(isOver, "\(fleet.relay.error)")
            #expect(try await eventually { try await !Self.isReady(at: port) })
            #expect(try await fleet.fetch().status != 0)
            fleet.site.gateway.signal(SIGCONT)
            let serves = try await eventually(within: .seconds(20)) { try await fleet.fetch().status == 0 }
            #expect(serves)
            #expect(try await eventually { try await Self.isReady(at: port) })
            fleet.relay.signal(SIGSTOP)
            defer { fleet.relay.signal(SIGCONT) }
            let blocked = try await fleet.site.admin("block", instance)
            #expect(blocked.output.contains("in force at 0 of 1 relay after "), "\(blocked.output)")
            #expect(blocked.output.contains("; relay.localhost has not "), "\(blocked.output)")
        }
    }

    @Test func aRelayThatDoesNotRunIsNamed() async throws {
        let site = try await Site.start()
        _ = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        let request = try await words(
            "gateway", "join", "--role", "relay", "--name", "relay-b.example", "--data", site.folder.file("relay"))
        let invited = try await ChildProcess(
            Programs.built("sallyport"), ["gateway", "invite", request, "--data", site.data]
        ).outcome()
        #expect(invited.status == 0 && invited.output.hasPrefix("sallyport-relay-invitation:"))
        #expect(invited.error.contains("added relay relay-b.example to cluster main"), "\(invited.error)")
        let blocked = try await site.admin("block", instance).output
        #expect(blocked.contains("in force at 0 of 1 relay after 1 s"), "\(blocked)")
        #expect(blocked.contains("; relay-b.example has never answered"), "\(blocked)")
    }

    @Test func aRemovedRelayRefuses() async throws {
        try await with { fleet in
            #expect(try await fleet.fetch().status == 0)
            #expect(try await fleet.site.admin("relay", "remove", "relay.localhost").output.contains("removed relay"))
            let refuses = try await eventually(within: .seconds(10)) { try await fleet.fetch().status != 0 }
            #expect(refuses)
            #expect(try await fleet.site.admin("relay", "list").output.contains("no relay is enrolled"))
        }
    }

    @Test func itsFolderHasNothingOfTheFleetsAndRunsInNoOtherRole() async throws {
        let folder = try TemporaryDirectory()
        _ = try await words("gateway", "init", "--data", folder.file("gateway"), "--name", "localhost")
        let request = try await words(
            "gateway", "join", "--role", "relay", "--name", "relay-a.example", "--data", folder.file("relay"))
        #expect(request.hasPrefix("sallyport-relay:"))
        let invitation = try await words("gateway", "invite", request, "--data", folder.file("gateway"))
        _ = try await words("gateway", "join", invitation, "--data", folder.file("relay"))
        for arguments in [["gateway", "run"], ["admin", "show"]] {
            let outcome = try await ChildProcess(
                Programs.built("sallyport"), arguments + ["--data", folder.file("relay")]
            ).outcome()
            #expect(outcome.status != 0 && outcome.error.contains("relay's"), "\(outcome.error)")
        }
        let other = try await ChildProcess(
            Programs.built("sallyport"), ["gateway", "run", "--role", "relay", "--data", folder.file("gateway")]
        ).outcome()
        #expect(other.status != 0 && other.error.contains("not the data of a relay"), "\(other.error)")
    }
}
