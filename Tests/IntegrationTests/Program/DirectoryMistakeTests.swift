import Foundation
import TestSupport
import Testing

/// A gateway's data given where an app's store belongs, and the other way round: the failure names the directory, says
/// what it is, and nothing in it is changed.
@Suite(.timeLimit(.minutes(2))) struct DirectoryMistakeTests {
    /// The words before `--store`, and those after it.
    private static let commandsForApps: [([String], [String])] =
        [
            (["status"], []), (["explain"], ["https://a.example/"]), (["fetch"], ["https://a.example/"]),
            (["connect"], ["a.example:1"]), (["cookies", "list"], []), (["cookies", "remove"], ["--all"]),
            (["cache", "stat"], []), (["cache", "clear"], []), (["token", "get"], []), (["run"], ["--", "/bin/true"]),
            (["proxy"], ["--listen", "127.0.0.1:0"]),
        ] + kerberos

    #if Kerberos
    private static let kerberos = [(["tickets", "list"], [String]())]
    #else
    private static let kerberos: [([String], [String])] = []
    #endif

    private func run(_ words: [String], input: String? = nil) async throws -> Outcome {
        try await ChildProcess(Programs.built("sallyport"), words, input: input).outcome()
    }

    @Test(arguments: [true, false]) func commandsForAppsNameAGatewaysData(_ isRunning: Bool) async throws {
        let site = try await Site.start()
        let link = try await site.link()
        if !isRunning { try await site.stopGateway() }
        for (path, rest) in Self.commandsForApps {
            let words = path + ["--store", site.data] + rest
            let failed = try await run(words)
            #expect(failed.status == 64, "\(words): \(failed.status) \(failed.error)")
            #expect(failed.error.contains("\(site.data) is the data of a gateway"), "\(words): \(failed.error)")
        }
        let told = try await run(["status", "--store", site.data, "--json"]).failure()
        #expect(told.name == "notAnApp" && told.message.contains(site.data))
        let activated = try await run(["activate", "-", "--store", site.data], input: link)
        #expect(activated.status == 64 && activated.error.contains("the data of a gateway"), "\(activated.error)")
        let examined = try await run(["doctor", "--store", site.data])
        #expect(examined.status == 64 && examined.output.contains("the data of a gateway"), "\(examined.output)")
        // The gateway is as it was, and maintenance takes both kinds.
        #expect(try await site.admin("user", "list").output == "\(Site.user)\n")
        #expect(try await run(["store", "stat", "--store", site.data]).status == 0)
    }

    /// A key that lies elsewhere does not keep the mistake from being named.
    @Test func aGatewaysDataIsNamedEvenWithoutItsKey() async throws {
        let site = try await Site.start()
        for options in [["--key-file", site.folder.file("none")], ["--systemd-credential", "none"]] {
            let failed = try await run(["status", "--store", site.data] + options)
            #expect(failed.status == 64 && failed.error.contains("the data of a gateway"), "\(failed.error)")
        }
    }

    @Test func commandsForGatewaysNameAnAppsStore() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let before = try await run(["status", "--store", store]).output
        let commands = [
            ["gateway", "run", "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0"],
            ["gateway", "init", "--name", "localhost"], ["admin", "user", "list"], ["admin", "show"],
            ["admin", "wipe", "x", "--yes"], ["gateway", "authority", "status"],
            ["gateway", "certificate", "relay.example", "-o", site.folder.path],
        ]
        for words in commands {
            let failed = try await run(words + ["--data", store])
            #expect(failed.status == 64, "\(words): \(failed.status) \(failed.error)")
            #expect(
                failed.error.contains("\(store) is the store of the app \(Site.app)"), "\(words): \(failed.error)")
        }
        let told = try await run(["admin", "user", "list", "--data", store, "--json"]).failure()
        #expect(told.name == "notAGateway")
        #expect(try await run(["status", "--store", store]).output == before)
    }

    /// The store that a running app has open is told apart too.
    @Test func theStoreOfARunningAppIsNamed() async throws {
        try await RunningApp.run { app in
            let store = app.site.folder.file("app")
            let failed = try await self.run([
                "admin", "user", "list", "--data", store, "--key-file", app.site.folder.file("app.key"),
            ])
            #expect(failed.status == 64 && failed.error.contains("is the store of the app"), "\(failed.error)")
        }
    }

    @Test func aDirectoryWithoutEitherIsNamed() async throws {
        let folder = try TemporaryDirectory()
        let empty = folder.file("empty")
        let status = try await run(["status", "--store", empty])
        #expect(status.status == 64 && status.error.contains("There is no store at \(empty)"), "\(status.error)")
        for words in [["admin", "user", "list"], ["gateway", "run"]] {
            let failed = try await run(words + ["--data", empty])
            #expect(failed.status == 64 && failed.error.contains("There is no gateway at \(empty)"), "\(failed.error)")
        }
    }
}
