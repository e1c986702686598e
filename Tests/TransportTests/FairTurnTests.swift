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

/// A body that comes fast, and whose reader is on the loop, leaves turns to others.
@Suite(.timeLimit(.minutes(1)))
struct FairTurnTests {
    private static let total = 64 << 20

    /// The bytes that were read, in all and at the loop's last look at its descriptors.
    private struct Counts {
        var read = 0
        var atLastLook = 0
        var mostBetweenLooks = 0

        mutating func look() {
            mostBetweenLooks = max(mostBetweenLooks, read - atLastLook)
            atLastLook = read
        }
    }

    /// A descriptor that each look finds ready.
    private final class Lookout: DescriptorHandler, Sendable {
        let descriptor: Int32
        private let writer: Int32
        let counts = Lock(Counts())

        init() {
            var ends: [Int32] = [0, 0]
            precondition(pipe(&ends) == 0 && write(ends[1], "x", 1) == 1)
            (descriptor, writer) = (ends[0], ends[1])
        }

        func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) { counts.withLock { $0.look() } }

        deinit {
            close(descriptor)
            close(writer)
        }
    }

    @Test func descriptorsAreLookedAtWhileALongBodyIsRead() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.total)\r\n\r\n")
            let chunk = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<(Self.total / chunk.count) where connection.write(chunk) {}
        }
        let loops = EventLoopGroup(count: 1, name: "fair")
        let transport = Transport(loops: loops, engine: .own)
        let (loop, lookout) = (loops.next(), Lookout())
        loop.execute { loop.watch(lookout.descriptor, for: .read, handler: lookout) }
        let url = try server.url()

        try await withTaskExecutorPreference(loop) {
            let response = try await transport.exchange(ExchangeRequest(.get, url), via: ConnectionPath())
            for try await chunk in response.body { lookout.counts.withLock { $0.read += chunk.count } }
        }

        #expect(lookout.counts.withLock { $0.read } == Self.total)
        // What a turn reads, behind what the pipe held before it.
        let most = lookout.counts.withLock { $0.mostBetweenLooks }
        #expect(most <= HTTP1Connection.turn + BodyPipe.Watermarks.body.high, "\(most) bytes between two looks")
        loop.execute { loop.forget(lookout.descriptor) }
        await transport.shutdown()
        await loops.shutdown()
    }
}
