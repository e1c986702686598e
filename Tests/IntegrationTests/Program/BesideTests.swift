import Foundation
import Sallyport
import SallyportCookies
import TestSupport
import Testing

/// Commands that only read work while the app has its store open, and see what it has written.
@Suite(.timeLimit(.minutes(2))) struct BesideTests {
    private static func run(_ app: RunningApp, _ words: String...) async throws -> Outcome {
        let location = [
            "--store", app.site.folder.file("app"), "--key-file", app.site.folder.file("app.key"), "--json",
        ]
        return try await ChildProcess(Programs.built("sallyport"), words + location).outcome()
    }

    /// As in a script that starts a gateway in the background.
    @Test func commandsRightAfterTheStartOfAGatewayAreCarriedOut() async throws {
        let folder = try TemporaryDirectory()
        let (program, data) = (Programs.built("sallyport"), ["--data", folder.file("gateway")])
        let made = try await ChildProcess(program, ["gateway", "init", "--name", "localhost"] + data).outcome()
        #expect(made.status == 0, "\(made.error)")
        let listens = ["--control", "127.0.0.1:0", "--relay", "127.0.0.1:0"]
        let gateway = try ChildProcess(program, ["gateway", "run"] + listens + data)
        for user in ["ann", "bob", "eve"] {
            let added = try await ChildProcess(program, ["admin", "user", "add", user] + data).outcome()
            #expect(added.status == 0, "\(added.error)")
        }
        #expect(try await eventually { gateway.output.hasPrefix("ready") }, "\(gateway.error)")
        let listed = try await ChildProcess(program, ["admin", "user", "list"] + data).outcome()
        #expect(listed.output == "ann\nbob\neve\n")
        gateway.signal(SIGTERM)
        #expect(try await gateway.outcome().status == 0)
    }

    @Test func eachReadingCommandWorksBesideTheApp() async throws {
        try await RunningApp.run { app in
            let url = "\(app.intranet.url)/cached.txt"
            _ = try await app.session.data(for: .get(url))
            try await app.sallyport.cookies.set(
                Cookie(name: "kept", value: "1", domain: Intranet.name, expires: .distantFuture))

            let status = try await Self.run(app, "status").json(Status.self)
            #expect(status.state == "authorized" && status.entitlement == Site.app)
            let explained = try await Self.run(app, "explain", url).json(Explained.self)
            #expect(explained.route == "relay" && explained.tls == ["TLS1.2", "TLS1.3"])
            let statistics = try await Self.run(app, "store", "stat").json(Statistics.self)
            #expect(statistics.records > 0)
            #expect(try await Self.run(app, "store", "verify").json(Check.self).sound)
            // The app writes a cookie and what it caches within a moment.
            #expect(
                try await eventually {
                    try await Self.run(app, "cookies", "list").json([Listed].self).map(\.name) == ["kept"]
                })
            #expect(
                try await eventually { try await Self.run(app, "cache", "stat").json(Cache.self).entries == 1 })
            let shown = try await Self.run(app, "cache", "show", url).json([Stored].self)
            #expect(shown.map(\.status) == [200])
            #expect(try await Self.run(app, "cookies", "export").output.contains("kept"))
            #if Kerberos
            #expect(try await Self.run(app, "tickets", "list").json([Ticket].self).isEmpty)
            #endif
            let doctor = try await Self.run(app, "doctor").json(Doctor.self)
            #expect(doctor.sound)

            let backup = app.site.folder.file("backup")
            #expect(try await Self.run(app, "store", "backup", backup).status == 0)
            // The same store does refuse a second writer.
            for words in [["cookies", "remove", "--all"], ["cache", "clear"], ["store", "compact"]] {
                let location = [
                    "--store", app.site.folder.file("app"), "--key-file", app.site.folder.file("app.key"),
                ]
                #expect(
                    try await ChildProcess(Programs.built("sallyport"), words + location).outcome().status == 75,
                    "\(words)")
            }
            // The app was not disturbed.
            #expect(
                try await app.session.data(for: .get("\(app.intranet.url)/report.txt")).body
                    == Array("The figures of today.\n".utf8))
        }
    }

    private struct Status: Decodable {
        var state: String
        var entitlement: String
    }
    private struct Explained: Decodable {
        var route: String
        var tls: [String]
    }
    private struct Statistics: Decodable { var records: Int }
    private struct Check: Decodable { var sound: Bool }
    private struct Listed: Decodable { var name: String }
    private struct Cache: Decodable { var entries: Int }
    private struct Stored: Decodable { var status: Int }
    private struct Ticket: Decodable { var user: String }
    private struct Doctor: Decodable { var sound: Bool }
}
