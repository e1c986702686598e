import Foundation
import TestSupport
import Testing

/// The database of a fleet is put back to a backup while a relay of its own machine and an app go on.
@Suite(.timeLimit(.minutes(4))) struct FleetBackupTests {
    private struct Relay: Decodable {
        var name: String
        var applied: Int64?
        var port: UInt16?
    }

    private let fleet: Fleet
    private let store: String

    init() async throws {
        fleet = try await Fleet.start(of: 1)
        store = fleet.folder.file("app")
    }

    private var gateway: String { fleet.folder.file("gateway0") }
    private var backup: String { fleet.folder.file("backup.sql") }

    private func sallyport(_ arguments: String..., input: String? = nil) async throws -> Outcome {
        try await ChildProcess(Programs.built("sallyport"), arguments, input: input).outcome(within: .seconds(60))
    }

    private func database(_ program: String, _ options: String...) async throws {
        let outcome = try await ChildProcess("/usr/bin/env", [program, "-d", fleet.database] + options)
            .outcome(within: .seconds(30))
        try #require(outcome.status == 0, "\(program): \(outcome.error)")
    }

    private func fetch() async throws -> Outcome {
        try await sallyport(
            "fetch", "\(fleet.intranet.url)/report.txt", "--store", store, "--ca", fleet.intranet.authorityFile)
    }

    /// A relay on a machine of its own.
    private func relay() async throws -> ChildProcess {
        let data = fleet.folder.file("relay")
        let request = try await Fleet.words(
            "gateway", "join", "--role", "relay", "--name", "relay.localhost", "--data", data)
        let invitation = try await Fleet.words("gateway", "invite", request, "--data", gateway)
        _ = try await Fleet.words("gateway", "join", invitation, "--data", data)
        return try await Fleet.run(data, "--role", "relay", "--relay", "127.0.0.1:0")
    }

    private func listed() async throws -> Relay? {
        let text = try await fleet.admin(0, "relay", "list", "--json")
        return try JSONDecoder().decode([Relay].self, from: Data(text.utf8)).first
    }

    /// The revision that the relay has in force.
    private func inForce() async throws -> Int64 { try await listed()?.applied ?? 0 }

    @Test func aRelayAndItsAppGoOnWithABackupThatIsPutIntoForce() async throws {
        let relay = try await relay()
        defer { relay.signal(SIGKILL) }
        #expect(try await eventually(within: .seconds(20)) { try await listed()?.port != nil })
        let link = try await fleet.admin(0, "key", "issue", Site.user, Site.app)
        let activated = try await sallyport("activate", "-", "--store", store, input: link)
        try #require(activated.status == 0, "\(activated.error)")
        #expect(try await fetch().status == 0)
        try await database("pg_dump", "--clean", "--if-exists", "-f", backup)
        try await fleet.admin(0, "user", "add", "late@corp.example")
        for _ in 0..<3 { #expect(try await fetch().status == 0) }
        let before = try await inForce()

        fleet.gateways[0].signal(SIGTERM)
        _ = try await fleet.gateways[0].outcome(within: .seconds(30))
        #expect(try await fetch().status == 0, "through the relay alone")
        try await database("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", backup)
        let refused = try await sallyport("gateway", "run", "--data", gateway, "--control", "127.0.0.1:0")
        #expect(refused.status == 74 && refused.error.contains("gateway fleet restored"), "\(refused.error)")
        #expect(try await fetch().status == 0)
        try await Fleet.words("gateway", "fleet", "restored", "--yes", "--data", gateway)

        let again = try await Fleet.run(
            gateway, "--control", fleet.ready[0].control, "--relay", fleet.ready[0].relay)
        defer { again.signal(SIGKILL) }
        #expect(!(try await fleet.admin(0, "user", "list").contains("late")))
        let follows = try await eventually(within: .seconds(30)) { try await inForce() > before }
        #expect(follows, "\(relay.error)")
        let fetched = try await fetch()
        #expect(fetched.status == 0, "\(fetched.error)")
        let status = try await sallyport("status", "--store", store)
        #expect(status.status == 0, "\(status.error)")
        // What is decided now is in force at the relay and at the app.
        try await fleet.admin(0, "user", "remove", Site.user, "--yes")
        #expect(try await eventually(within: .seconds(20)) { try await fetch().status == 77 })
    }
}
