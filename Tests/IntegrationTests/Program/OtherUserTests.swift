import Foundation
import Glibc
import TestSupport
import Testing

/// Commands run as another user than the owner of what they work with: the failure names the path, the owner and the
/// user, and says as whom to run.
@Suite(.timeLimit(.minutes(2)), .enabled(if: getuid() == 0, "takes root, to be another user"))
struct OtherUserTests {
    private static let owner: uid_t = 65_534
    private static let stranger: uid_t = 65_533

    private func words(as user: uid_t, _ words: [String]) -> [String] {
        ["--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", "--", Programs.built("sallyport")] + words
    }

    private func run(as user: uid_t, _ words: String...) async throws -> Outcome {
        try await ChildProcess("/usr/bin/setpriv", self.words(as: user, words)).outcome()
    }

    /// Lets every user come as far as the directories in it, which are closed themselves.
    private func open(_ folder: TemporaryDirectory) {
        #expect(chmod(folder.path, 0o711) == 0)
    }

    @Test func adminNamesTheSocketAndWhomItIsOpenTo() async throws {
        let site = try await Site.start()
        open(site.folder)
        let socket = "\(site.data)/run/admin.sock"
        let failed = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data)
        #expect(failed.status == 77, "\(failed.error)")
        #expect(failed.error.contains(socket) && failed.error.contains("root"), "\(failed.error)")
        #expect(failed.error.contains("(\(Self.owner))"), "\(failed.error)")
        let told = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data, "--json").failure()
        #expect(told.name == "forbidden" && told.message.contains(socket))
        // Nor does it help that the directory above the socket can be entered.
        #expect(chmod(site.data, 0o711) == 0)
        let again = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data)
        #expect(again.status == 77 && again.error.contains(socket), "\(again.error)")
        #expect(chmod("\(site.data)/run", 0o711) == 0)
        let last = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data)
        #expect(last.status == 77 && last.error.contains(socket), "\(last.error)")
        // Even one who could connect is told, and not served.
        #expect(chmod(socket, 0o777) == 0)
        let connected = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data)
        #expect(connected.status == 77 && connected.error.contains(socket), "\(connected.error)")
        #expect(connected.output.isEmpty)
    }

    @Test func adminSaysSoWhereTheWayToTheDirectoryIsClosed() async throws {
        let site = try await Site.start()
        #expect(chmod(site.folder.path, 0o700) == 0)
        let failed = try await run(as: Self.owner, "admin", "user", "list", "--data", site.data)
        #expect(failed.status == 77, "\(failed.error)")
        #expect(failed.error.contains(site.data) && failed.error.contains("as root"), "\(failed.error)")
    }

    @Test func rootAdministersAnotherUsersGateway() async throws {
        let folder = try TemporaryDirectory()
        #expect(chown(folder.path, Self.owner, Self.owner) == 0)
        open(folder)
        let data = folder.file("gateway")
        let made = try await run(as: Self.owner, "gateway", "init", "--data", data, "--name", "localhost")
        try #require(made.status == 0, "\(made.error)")
        // While it does not run, its files are its owner's alone.
        let closed = try await sallyport("admin", "user", "list", "--data", data)
        #expect(closed.status == 74 && closed.error.contains(data), "\(closed.error)")
        #expect(closed.error.contains("\(Self.owner)") && closed.error.contains("owner"), "\(closed.error)")

        let gateway = try ChildProcess(
            "/usr/bin/setpriv",
            words(
                as: Self.owner,
                [
                    "gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--json",
                ]))
        #expect(try await eventually(within: .seconds(30)) { gateway.output.hasSuffix("\n") || !gateway.isRunning })
        try #require(gateway.isRunning, "\(gateway.error)")
        let listed = try await sallyport("admin", "user", "list", "--data", data)
        #expect(listed.status == 0, "\(listed.error)")
        let stranger = try await run(as: Self.stranger, "admin", "user", "list", "--data", data)
        #expect(stranger.status == 77, "\(stranger.error)")
        #expect(
            stranger.error.contains("(\(Self.owner))") && stranger.error.contains("\(Self.stranger)"),
            "\(stranger.error)")
    }

    @Test func theStoreOfAnotherUserIsNamedWithItsOwner() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        open(site.folder)
        let files = try FileManager.default.contentsOfDirectory(atPath: store).map { "\(store)/\($0)" }
        for path in [store] + files { #expect(chown(path, Self.owner, Self.owner) == 0) }
        for user in [0, Self.stranger] {
            for words in [["status"], ["doctor"], ["store", "stat"]] {
                let failed = try await ChildProcess(
                    "/usr/bin/setpriv", self.words(as: user, words + ["--store", store])
                ).outcome()
                let text = failed.output + failed.error
                #expect(failed.status == 74, "\(words) \(text)")
                #expect(text.contains(store) && text.contains("number \(Self.owner)"), "\(text)")
                #expect(text.contains("number \(user)") && text.contains("as the owner"), "\(text)")
            }
        }
        #expect(try await run(as: Self.owner, "status", "--store", store).status == 0)
    }

    /// What cannot be entered does not look as if nothing were there.
    @Test func aDirectoryThatIsClosedIsNotCalledEmpty() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        for mode: mode_t in [0o711, 0o700] {
            #expect(chmod(site.folder.path, mode) == 0)
            let failed = try await run(as: Self.stranger, "status", "--store", store)
            #expect(failed.status == 74, "\(failed.error)")
            #expect(failed.error.contains("Cannot enter \(store): Permission denied"), "\(failed.error)")
        }
    }
}
