import Foundation
import Glibc
import TestSupport
import Testing

/// A gateway of a user without privileges, and whether that user's other processes can read its memory.
///
/// Root can read the memory of every process, so the test needs root in order to act as another user.
@Suite(.enabled(if: getuid() == 0), .timeLimit(.minutes(1))) struct GatewayDumpTests {
    private static let user: uid_t = 65_534

    @Test func aGatewayLeavesNoCoreAndItsMemoryIsNotForItsUser() async throws {
        let folder = try TemporaryDirectory()
        try #require(chown(folder.path, Self.user, Self.user) == 0)
        let data = folder.file("gateway")
        let program = Programs.built("sallyport")
        let made = try await run([program, "gateway", "init", "--data", data, "--name", "localhost"], in: folder)
            .outcome()
        try #require(made.status == 0, "\(made.error)")
        let gateway = try run(
            [
                program, "gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0",
                "--json",
            ],
            in: folder)
        // A process without the protection, to see that the test can fail.
        let control = try run(["/bin/sleep", "60"], in: folder)
        #expect(try await eventually(within: .seconds(30)) { gateway.output.hasSuffix("\n") || !gateway.isRunning })
        try #require(gateway.isRunning, "\(gateway.error)")
        #expect(try await eventually { Self.comm(of: control) == "sleep" })

        #expect(try await reads(control, in: folder))
        #expect(try await !reads(gateway, in: folder))
        #expect(Self.owner(of: control) == Self.user)
        #expect(Self.owner(of: gateway) == 0)

        let dumpsControl = try await leavesCore(control, in: folder)
        print("Dumps: this machine writes cores into the directory: \(dumpsControl)")
        #expect(try await !leavesCore(gateway, in: folder))
    }

    /// Runs a program as the user, in the folder, with cores of any size.
    private func run(_ words: [String], in folder: TemporaryDirectory) throws -> ChildProcess {
        let user = "\(Self.user)"
        let script = "cd '\(folder.path)' && ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\""
        return try ChildProcess(
            "/usr/bin/setpriv",
            ["--reuid", user, "--regid", user, "--clear-groups", "/bin/bash", "-c", script, "-"] + words,
            environment: ["SWIFT_BACKTRACE": "enable=yes"])
    }

    /// Whether another process of the user can read what the kernel protects in the same way as memory (ptrace(2),
    /// "access mode checking"), apart from Yama, which not every machine has.
    private func reads(_ child: ChildProcess, in folder: TemporaryDirectory) async throws -> Bool {
        try await run(["/usr/bin/head", "-c", "1", "/proc/\(child.identifier)/environ"], in: folder).outcome().status
            == 0
    }

    private func leavesCore(_ child: ChildProcess, in folder: TemporaryDirectory) async throws -> Bool {
        for file in try cores(in: folder) { try FileManager.default.removeItem(atPath: folder.file(file)) }
        child.signal(SIGSEGV)
        // It must end at once: a gateway that waits for its own backtrace is not restarted.
        let outcome = try await child.outcome(within: .seconds(20))
        #expect(outcome.status == SIGSEGV && !outcome.error.contains("Backtrace"))
        return try !cores(in: folder).isEmpty
    }

    private func cores(in folder: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("core") }
    }

    private static func owner(of child: ChildProcess) -> uid_t? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "/proc/\(child.identifier)/mem")
        return (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value
    }

    private static func comm(of child: ChildProcess) -> String? {
        (try? String(contentsOfFile: "/proc/\(child.identifier)/comm", encoding: .utf8))?
            .trimmingCharacters(in: .newlines)
    }
}
