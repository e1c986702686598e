import Foundation
import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What a command does whose output cannot be written, and what of its arguments its failures repeat.
@Suite(.timeLimit(.minutes(1))) struct OutputFailureTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// - Returns: the status, and what was written to standard error. The descriptor is closed.
    private func run(_ arguments: [String], writingTo output: Int32) async throws -> (Int32, String) {
        var workplace = Workplace(defaultStore: "")
        workplace.output = output
        workplace.error = open(folder.file("error"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { for stream in [workplace.output, workplace.error] { close(stream) } }
        let status = await Workplace.$current.withValue(workplace) { await SallyportProgram.run(arguments) }
        return (status.rawValue, try String(contentsOfFile: folder.file("error"), encoding: .utf8))
    }

    @Test func whatCannotBePrintedIsAFailure() async throws {
        let (status, error) = try await run(["--version"], writingTo: open("/dev/full", O_WRONLY | O_CLOEXEC))
        #expect(status == 74)
        #expect(
            error == "sallyport: What the command printed is lost: No space left on device (all else that it does was "
                + "done)\n")
    }

    @Test func aReaderThatHasLeftIsNoFailure() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let (status, error) = try await run(["--version"], writingTo: ends[1])
        #expect(status == 0 && error.isEmpty, "\(error)")
    }

    /// A link that is not where a link belongs: its key would stand in logs.
    @Test(arguments: [
        "sallyport://gateway.example:17433/?ca=a&user=ann&key=trmszf733w64mekx", "eyJhbGciOiJFUzI1NiJ9.e30.c2VjcmV0",
        "sallyport-invitation:trmszf733w64mekxtrmszf733w64mekx",
    ])
    func aLinkInThePlaceOfAFileIsNotRepeated(secret: String) async throws {
        for arguments in [["status", "--store", secret], ["status", "--store=\(secret)"]] {
            let (status, error) = try await run(arguments, writingTo: open("/dev/null", O_WRONLY | O_CLOEXEC))
            #expect(status != 0 && error.contains(String(secret.prefix(8))), "\(error)")
            #expect(!error.contains(secret.suffix(8)), "\(error)")
        }
    }
}
