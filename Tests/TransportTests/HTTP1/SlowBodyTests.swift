import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// A long body that comes fast at first, so that the kernel reports only large portions of it, and then a byte at a
/// time.
@Suite(.timeLimit(.minutes(1)))
struct SlowBodyTests {
    private static let (fast, slow, total) = (4 << 20, 5, 8 << 20)
    private static let piece = 256 << 10

    private let authority: TestAuthority
    private let tls: TestTLS
    private let transport = Transport(engine: .own)
    private let body = Body()

    init() throws {
        authority = try TestAuthority()
        tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
    }

    /// What the reader has of a body, and from how many bytes on the kernel reported it to the reader.
    private final class Body: Sendable {
        private let taken = Lock(0)
        private let written = Lock(0)
        private let reports = Lock<[Int32]>([])

        var count: Int { taken.withLock { $0 } }
        var mostReported: Int32 { reports.withLock { $0.max() ?? 0 } }
        var lastReported: Int32 { reports.withLock { $0.last ?? 0 } }

        func takes(_ chunk: [UInt8]) { taken.withLock { $0 += chunk.count } }

        /// Waits until the server has nothing more to write, or no room to write it: the count did not grow for a
        /// while, ten looks in a row, since a thread may get no processor meanwhile.
        func isHeldUp() async throws {
            var (before, looks) = (-1, 0)
            while looks < 10 {
                let now = written.withLock { $0 }
                looks = now == before ? looks + 1 : 0
                before = now
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// - Returns: whether the reader has so many bytes, after five seconds at most.
        private func isTaken(_ count: Int, over connection: TestConnection) -> Bool {
            for _ in 0..<5000 where self.count < count {
                usleep(1000)
                note(connection)
            }
            return self.count >= count
        }

        /// Each of the slow bytes is only written if the reader has all before it.
        func answer(over connection: TestConnection, _ write: ([UInt8]) -> Bool) {
            guard write(Array("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n".utf8)) else { return }
            for _ in 0..<fast / piece {
                guard write([UInt8](repeating: 0, count: piece)) else { return }
                written.withLock { $0 += piece }
                note(connection)
            }
            for number in 0..<slow { guard isTaken(fast + number, over: connection), write([1]) else { return } }
            guard isTaken(fast + slow, over: connection) else { return }
            note(connection)
            _ = write([UInt8](repeating: 0, count: total - fast - slow))
        }

        private func note(_ connection: TestConnection) {
            if let count = connection.peerReportsFrom { reports.withLock { $0.append(count) } }
        }
    }

    private func load(_ scheme: String, from server: TestServer) async throws {
        let path = try ConnectionPath(trust: .only([authority.der]))
        let response = try await transport.exchange(.init(.get, server.url(scheme: scheme)), via: path)
        // What the kernel holds by then is read as fast as can be, however slow this machine is.
        try await body.isHeldUp()
        while let chunk = try await response.body.next() { body.takes(chunk) }
    }

    @Test(arguments: ["http", "https"])
    func eachByteArrivesThoughPortionsAreWaitedFor(_ scheme: String) async throws {
        let (body, tls) = (body, tls)
        let server = try TestServer { connection in
            guard scheme == "https" else {
                guard connection.readHead() != nil else { return }
                body.answer(over: connection) { connection.write($0) }
                return connection.awaitEnd()
            }
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            body.answer(over: connection) { client.write($0) }
            connection.awaitEnd()
        }
        try await load(scheme, from: server)
        #expect(body.count == Self.total)
        #expect(body.mostReported > 1 && body.lastReported == 1)
        await transport.shutdown()
    }
}
