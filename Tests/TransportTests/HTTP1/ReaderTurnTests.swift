import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportTransport

/// A reader that has room again receives on its own thread, while the loop's sleeps.
@Suite(.timeLimit(.minutes(1)))
struct ReaderTurnTests {
    private static let total = 32 << 20
    /// How far the server is ahead of the reader: more than the pipe holds, so that the kernel has some of it.
    private static let ahead = BodyPipe.Watermarks.body.high + (256 << 10)

    /// How many bytes went into the connection and came out of it.
    private struct Counts {
        var written = 0
        var read = 0
        var isAhead: Bool { written - read >= min(ReaderTurnTests.ahead, ReaderTurnTests.total - read) }
    }

    @Test func aLongBodyIsReadWithoutWakingTheLoopForEachPart() async throws {
        let counts = Lock(Counts())
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.total)\r\n\r\n")
            let chunk = [UInt8](repeating: 7, count: 64 << 10)
            for _ in 0..<(Self.total / chunk.count) where connection.write(chunk) {
                counts.withLock { $0.written += chunk.count }
            }
        }
        let loops = EventLoopGroup(count: 1, name: "reader")
        let transport = Transport(loops: loops, engine: .own)
        let response = try await transport.exchange(ExchangeRequest(.get, server.url()), via: ConnectionPath())

        let before = try ThreadSleeps.count(of: "reader-0")
        let expected = [UInt8](repeating: 7, count: 1 << 20)
        let start = ContinuousClock.now
        var parts = 0
        for try await chunk in response.body {
            #expect(chunk.count <= expected.count && memcmp(chunk, expected, chunk.count) == 0)
            counts.withLock { $0.read += chunk.count }
            parts += 1
            _ = try await eventually { counts.withLock { $0.isAhead } }
            // Until the loop sleeps again.
            try await Task.sleep(for: .milliseconds(1))
        }
        let sleeps = try ThreadSleeps.count(of: "reader-0") - before

        #expect(counts.withLock { $0.read } == Self.total)
        // Every second part is less than half of the pipe: without the reader's own turns, the loop wakes for it. Its timer
        // is due every 50 ms.
        let due = Int((ContinuousClock.now - start) / ReceiveThreshold.patience)
        #expect(sleeps < parts / 8 + due, "The loop slept \(sleeps) times beside \(parts) parts and \(due) timers.")
        await transport.shutdown()
        await loops.shutdown()
    }
}
