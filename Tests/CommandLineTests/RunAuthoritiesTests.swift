import ArgumentParser
import Foundation
import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// The file of `run --ca`, which the program that is run opens by itself.
@Suite struct RunAuthoritiesTests {
    private func command(_ authorities: String) throws -> RunCommand {
        let parsed = try SallyportProgram.parseAsRoot(["run", "--store", "s", "--ca", authorities, "--", "true"])
        return try #require(parsed as? RunCommand)
    }

    @Test func thePathLeadsToTheFileFromAnyFolder() throws {
        let folder = FileManager.default.currentDirectoryPath
        #expect(try command("corp.pem").authorities == "\(folder)/corp.pem")
        #expect(try command("/etc/corp.pem").authorities == "/etc/corp.pem")
    }

    /// What this process has read of it would be gone for the program, and standard input is the program's own.
    @Test(arguments: ["-", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"])
    func aStreamOfThisProcessIsRefused(_ authorities: String) {
        #expect(throws: (any Error).self) { try command(authorities) }
    }

    @Test func aFIFOIsRefusedWithoutWaitingForItsWriter() throws {
        let folder = try TemporaryDirectory()
        let fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let failure = #expect(throws: CommandFailure.self) { try command(fifo).checkAuthorities() }
        #expect(failure?.status == .usage)
    }

    @Test func aFileIsTaken() throws {
        let folder = try TemporaryDirectory()
        try command(folder.write("no certificate\n", to: "ca.pem")).checkAuthorities()
    }
}
