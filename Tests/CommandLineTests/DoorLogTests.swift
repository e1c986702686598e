import Glibc
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCommandLine

/// The log of a door, which must not hold up the event loop that writes it.
@Suite(.timeLimit(.minutes(1))) struct DoorLogTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
    }

    private func text(_ reader: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(reader, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Runs calls on a thread of their own, since they would block it for good if they waited for a reader.
    private func isOverSoon(_ calls: @escaping @Sendable () -> Void) async throws -> Bool {
        let isOver = Lock(false)
        BlockingCalls("sallyport.test").enqueue {
            calls()
            isOver.withLock { $0 = true }
        }
        return try await eventually { isOver.withLock { $0 } }
    }

    @Test func aPipeWithoutAReaderKeepsTheFirstLines() async throws {
        let log = Lock<DoorLog?>(nil)
        let isOpen = try await isOverSoon { [path] in
            let opened = try? DoorLog(path)
            opened?.append("first")
            log.withLock { $0 = opened }
        }
        #expect(isOpen)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(text(reader) == "first\n")
        withExtendedLifetime(log) {}
    }

    @Test func linesThatAFullPipeDoesNotTakeAreCounted() async throws {
        let reader = open(path, O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        let filling = [UInt8](repeating: 0, count: Int(PIPE_BUF))
        while write(reader, filling, filling.count) > 0 {}
        let log = try DoorLog(path)
        let isOver = try await isOverSoon {
            log.append("first")
            log.append("second")
        }
        #expect(isOver)
        while case let taken = text(reader), !taken.isEmpty {}
        log.append("third")
        log.append("fourth")
        #expect(text(reader) == "{\"lost\":2}\nthird\nfourth\n")
    }
}
