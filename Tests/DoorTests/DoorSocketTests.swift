import Glibc
import SallyportBase
import SallyportEventLoop
import Testing

@testable import SallyportDoor

/// A door's task that need not wait for the program leaves the loop to others all the same.
@Suite(.timeLimit(.minutes(1))) struct DoorSocketTests {
    /// The most that is read or written before others have their turn, in bytes: 192 KiB, the piece that goes beyond
    /// them, and the one after the wait.
    private static let most = 288 << 10

    /// A program's end and the door's, between which the kernel keeps some 400 KB.
    private final class Pair {
        let program: Int32
        let door: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let result = socketpair(AF_UNIX, kind, 0, &ends)
            (program, door) = (ends[0], ends[1])
            try #require(result == 0)
            for end in ends {
                var size: Int32 = 208 << 10
                try #require(setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size)) == 0)
            }
        }

        deinit { close(program) }

        /// Sends as much as the kernel takes.
        func fill() -> Int {
            let bytes = [UInt8](repeating: 1, count: 16 << 10)
            var count = 0
            while case let sent = write(program, bytes, bytes.count), sent > 0 { count += sent }
            return count
        }
    }

    @Test func aTaskThatReadsMuchLeavesTheLoopToOthers() async throws {
        let pair = try Pair()
        let waiting = pair.fill()
        try #require(waiting > Self.most)
        let loop = EventLoop(name: "test")
        let socket = DoorSocket(pair.door, isTCP: false, on: loop)
        let count = await withTaskExecutorPreference(loop) {
            await Self.count(atMost: waiting, before: {}, on: loop) { try? await socket.read()?.count }
        }
        #expect(count > 0 && count <= Self.most)
        await socket.close()
        await loop.shutdown()
    }

    @Test func aTaskThatWritesMuchLeavesTheLoopToOthers() async throws {
        let pair = try Pair()
        let loop = EventLoop(name: "test")
        let socket = DoorSocket(pair.door, isTCP: false, on: loop)
        let piece = [UInt8](repeating: 1, count: 16 << 10)
        let drain = { @Sendable [program = pair.program] in Self.drain(program) }
        let count = await withTaskExecutorPreference(loop) {
            await Self.count(atMost: 320 << 10, before: drain, on: loop) {
                (try? await socket.write(piece)).map { piece.count }
            }
        }
        #expect(count > 0 && count <= Self.most)
        await socket.close()
        await loop.shutdown()
    }

    /// Reads what the program has not read yet: the kernel has room again.
    private static func drain(_ program: Int32) {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while Glibc.read(program, &bytes, bytes.count) > 0 {}
    }

    /// How many bytes a task on the loop moves before other work, which waits in the loop's queue, has its turn.
    @concurrent private static func count(
        atMost limit: Int, before other: @escaping @Sendable () -> Void, on loop: EventLoop,
        move: @Sendable () async -> Int?
    ) async -> Int {
        let hadTurn = Lock(false)
        loop.execute {
            hadTurn.withLock { $0 = true }
            other()
        }
        var count = 0
        while count < limit, !hadTurn.withLock({ $0 }), let moved = await move() { count += moved }
        return count
    }
}
