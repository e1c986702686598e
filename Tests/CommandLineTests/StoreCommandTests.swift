import FoundationEssentials
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCommandLine

@Suite struct StoreCommandTests {
    private let directory: TemporaryDirectory
    private var folder: String { directory.path }
    private var store: String { "\(folder)/store" }

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: String...) async -> SallyportCommandLine.ExitStatus {
        await SallyportProgram.run(["store"] + arguments + ["--store", store, "--key-file", "\(folder)/key"])
    }

    private func open() async throws -> SecureStore {
        try await SecureStore.open(at: store, protectedBy: .keyFile("\(folder)/key"))
    }

    private func fill() async throws {
        let store = try await open()
        let texts = store.collection("texts", of: String.self)
        try await store.write { try $0.set("a", for: "a", in: texts) }
        store.close()
    }

    @Test func aSoundStoreIsLookedAfter() async throws {
        try await fill()
        for command in ["stat", "verify", "rotate", "compact"] { #expect(await run(command) == .done, "\(command)") }
        #expect(await run("backup", "\(folder)/backup") == .done)
        #expect(await run("backup", "\(folder)/backup") == .inputOutput)
        #expect(await run("restore", "\(folder)/backup") == .done)
    }

    @Test func damageIsAnInputOutputError() async throws {
        try await fill()
        let path = "\(store)/data.mdb"
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        let end = try #require(bytes.lastIndex { $0 != 0 })
        bytes[end] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        #expect(await run("verify") == .inputOutput)
    }

    @Test func writingCommandsReportThatTheStoreIsInUse() async throws {
        let writer = try await open()
        for command in ["rotate", "compact"] { #expect(await run(command) == .inUse, "\(command)") }
        writer.close()
    }

    /// As systemd's `LimitFSIZE=` does.
    @Test func aFileThatMustNotGrowFailsTheCommandAndDoesNotKillTheProgram() async throws {
        try await fill()
        // 16 blocks of 512 bytes, less than a backup has, and less than a file of ThreadSanitizer's has that it maps at
        // the start, if it can make one.
        let script = "ulimit -f 16 && exec env TMPDIR=/proc \"$@\""
        let command = ["store", "backup", "\(folder)/backup", "--store", store, "--key-file", "\(folder)/key"]
        let words = ["-c", script, "-", Programs.built("sallyport")] + command
        let outcome = try await ChildProcess("/bin/sh", words).outcome()
        #expect(outcome.status == 74, "\(outcome.error)")
    }

    @Test func aMissingStoreIsAUsageError() async throws {
        for command in ["stat", "verify", "rotate", "compact"] { #expect(await run(command) == .usage, "\(command)") }
    }
}
