import Glibc
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCommandLine

/// A command that writes to a FIFO which is not read: in the process of a door, it holds no thread that the connections
/// of other programs need, and none at all once it has ended.
@Suite(.timeLimit(.minutes(1))) struct FIFOOutputTests {
    private let folder: TemporaryDirectory
    private let fifo: String

    init() throws {
        folder = try TemporaryDirectory()
        fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
    }

    /// Opens the FIFO for both sides, so that nothing waits for the other one.
    private func opened() -> Int32 { open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC) }

    /// Leaves no room in a FIFO.
    private func fill(_ descriptor: Int32) {
        let bytes = [UInt8](repeating: 0, count: Int(PIPE_BUF))
        while write(descriptor, bytes, bytes.count) > 0 {}
    }

    private func text(_ reader: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(reader, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Makes a call for the command of another process, on a thread of its own.
    ///
    /// - Parameter connection: the one to the process.
    /// - Returns: whether the call has returned.
    private func call(
        until connection: Int32 = -1, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Bool {
        let hasReturned = Lock(false)
        let workplace = Workplace(defaultStore: "", streams: PassedStreams([], until: connection))
        Workplace.$current.withValue(workplace) {
            BlockingCalls("sallyport.test").enqueue {
                body()
                hasReturned.withLock { $0 = true }
            }
        }
        return { hasReturned.withLock { $0 } }
    }

    @Test func theReaderMayComeLater() async throws {
        let hasWritten = call { [fifo] in try? OutputFile(fifo).write(Array("text".utf8)) }
        let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        #expect(try await eventually { hasWritten() })
        #expect(text(reader) == "text")
    }

    @Test func aRecordDoesNotWaitUntilItIsRead() async throws {
        let reader = opened()
        defer { close(reader) }
        fill(reader)
        let hasTold = call { [fifo] in (try? RecordFile(fifo))?.append("line") }
        let isTold = try await eventually { hasTold() }
        var read = ""
        let isRead = try await eventually {
            read += text(reader)
            return read.hasSuffix("line\n")
        }
        #expect(isTold && isRead)
    }

    /// In the process of a door, which lives on: no thread stays behind, and no descriptor.
    @Test(arguments: [false, true]) func whatWaitsForAReaderEndsWithItsCommand(_ isRecord: Bool) async throws {
        let (connection, other) = try pair()
        defer { for end in [connection, other] { close(end) } }
        let hasEnded = call(until: connection) { [fifo] in
            if isRecord { _ = try? RecordFile(fifo) } else { _ = try? OutputFile(fifo) }
        }
        shutdown(connection, Int32(SHUT_RD))
        let isOver = try await eventually(within: .seconds(10)) { hasEnded() }
        // Ends a call that waits in spite of that.
        close(opened())
        #expect(isOver)
    }

    @Test func whatWaitsForRoomEndsWithItsCommand() async throws {
        let (connection, other) = try pair()
        defer { for end in [connection, other] { close(end) } }
        let reader = opened()
        fill(reader)
        let hasEnded = call(until: connection) { [fifo] in try? OutputFile(fifo).write(Array("text".utf8)) }
        shutdown(connection, Int32(SHUT_RD))
        let isOver = try await eventually(within: .seconds(10)) { hasEnded() }
        // Ends a call that waits in spite of that.
        close(reader)
        #expect(isOver)
    }

    /// A load that is cancelled with its command ends, and is recorded, after that.
    @Test func theRecordOfACommandThatHasEndedIsWritten() async throws {
        let (connection, other) = try pair()
        defer { for end in [connection, other] { close(end) } }
        shutdown(connection, Int32(SHUT_RD))
        let path = folder.file("records")
        _ = call(until: connection) { (try? RecordFile(path))?.append("line") }
        #expect(try await eventually { KernelFile.text(path) == "line\n" })
    }

    @Test func aFolderThatIsNotThereIsNamed() throws {
        let missing = folder.file("none/file")
        #expect(throws: CommandFailure.self) { try OutputFile(missing) }
        #expect(throws: CommandFailure.self) { try RecordFile(missing) }
    }

    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        try #require(result == 0)
        return (ends[0], ends[1])
    }
}
