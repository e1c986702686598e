import ArgumentParser
import Glibc
import SallyportBase
import SallyportCore
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

    private func enqueue(in workplace: Workplace, _ body: @escaping @Sendable () -> Void) {
        Workplace.$current.withValue(workplace) { BlockingCalls("sallyport.test").enqueue(body) }
    }

    /// In the process of a door, which lives on: no thread stays behind, and no descriptor.
    @Test(arguments: [false, true])
    func whatWaitsForAWriterEndsWithTheCommandOfAnotherProcess(_ isPEM: Bool) async throws {
        var ends: [Int32] = [-1, -1]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        try #require(result == 0)
        let (connection, other) = (ends[0], ends[1])
        defer { for end in [connection, other] { close(end) } }
        let workplace = Workplace(defaultStore: "", streams: PassedStreams([], until: connection))
        let hasEnded = Lock(false)
        enqueue(in: workplace) { [fifo] in
            if isPEM {
                _ = try? ServerTrust.systemAnd(given: fifo)
            } else {
                _ = try? InputFile.bytes(fifo, limit: 100)
            }
            hasEnded.withLock { $0 = true }
        }
        shutdown(connection, Int32(SHUT_RD))
        let isOver = try await eventually(within: .seconds(10)) { hasEnded.withLock { $0 } }
        // Ends a call that waits in spite of that.
        close(open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC))
        #expect(isOver)
    }
}
