import ArgumentParser
import Glibc
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCommandLine

/// A command that waits for the writer of a FIFO ends when it is cancelled, as by Ctrl-C, and holds no thread of the
/// pool meanwhile: in the process of a door, the connections of other programs need them.
///
/// One after the other: commands that do hold a thread would leave none to end them with.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FIFOInputTests {
    private let folder: TemporaryDirectory
    private let fifo: String

    init() throws {
        folder = try TemporaryDirectory()
        fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
    }

    /// Opens the FIFO once the command has opened it, which goes on waiting then: for bytes.
    private func writer() async throws -> Int32 {
        let writer = Lock<Int32>(-1)
        let isOpen = try await eventually {
            let number = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            writer.withLock { $0 = number }
            return number >= 0
        }
        try #require(isOpen)
        return writer.withLock { $0 }
    }

    @Test(arguments: [
        ["fetch", "https://a.example/", "--ca"], ["fetch", "https://a.example/", "--cert"],
        ["fetch", "https://a.example/", "--config"], ["connect", "a.example:1", "--tls", "--ca"],
        ["connect", "a.example:1", "--config"],
    ])
    func aCommandThatWaitsForAWriterEndsWhenItIsCancelled(_ words: [String]) async throws {
        let arguments = words + [fifo, "--store", folder.file("none")]
        let hasEnded = Lock(false)
        let running = Task {
            defer { hasEnded.withLock { $0 = true } }
            let parsed = try SallyportProgram.parseAsRoot(arguments)
            var command = try #require(parsed as? any AsyncParsableCommand)
            try await command.run()
        }
        let writer = try await writer()
        running.cancel()
        let isOver = try await eventually(within: .seconds(10)) { hasEnded.withLock { $0 } }
        // Ends a read that goes on.
        close(writer)
        #expect(isOver)
        await #expect(throws: CancellationError.self) { try await running.value }
    }
}
