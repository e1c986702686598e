import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Bodies that their reader wants whole.
@Suite(.timeLimit(.minutes(1)), .onBothEngines)
struct GatheringTests {
    private let transport = Transport()
    private let path = ConnectionPath()
    private static let total = 1 << 20

    /// Sends the head and so many bytes of the body, and the rest once the gate is open.
    private static func server(
        _ status: String = "200 OK", sending first: Int, until isOpen: @escaping @Sendable () -> Bool = { true }
    ) throws -> TestServer {
        try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 \(status)\r\nContent-Length: \(total)\r\n\r\n")
            connection.write([UInt8](repeating: 1, count: first))
            for _ in 0..<5000 where !isOpen() { usleep(2000) }
            guard isOpen() else { return }
            connection.write([UInt8](repeating: 2, count: total - first))
        }
    }

    private func request(_ server: TestServer, wholeUpTo limit: ByteCount) throws -> ExchangeRequest {
        var request = try ExchangeRequest(.get, server.url())
        request.collectsUpTo = limit
        return request
    }

    @Test(arguments: [0, 1, 70_000, total])
    func bodyOfAKnownLengthComesInOnePiece(_ first: Int) async throws {
        let server = try Self.server(sending: first)
        let response = try await transport.exchange(request(server, wholeUpTo: .bytes(Self.total)), via: path)
        let body = try await response.body.next()
        #expect(body == [UInt8](repeating: 1, count: first) + [UInt8](repeating: 2, count: Self.total - first))
        #expect(try await response.body.next() == nil)
    }

    @Test(arguments: [("200 OK", total - 1), ("404 Not Found", total), ("302 Found", total)])
    func headOfAnyOtherAnswerIsNotKeptBackForItsBody(_ status: String, _ limit: Int) async throws {
        let gate = Lock(false)
        let server = try Self.server(status, sending: 10) { gate.withLock { $0 } }
        let response = try await transport.exchange(request(server, wholeUpTo: .bytes(limit)), via: path)
        gate.withLock { $0 = true }
        #expect(try await response.body.collect(upTo: .bytes(Self.total)).count == Self.total)
    }

    @Test
    func bodyThatIsCutOffIsLost() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.total)\r\n\r\n")
            connection.write([UInt8](repeating: 1, count: Self.total - 1))
        }
        let failure = await #expect(throws: LoadError.self) {
            let response = try await transport.exchange(request(server, wholeUpTo: .bytes(Self.total)), via: path)
            _ = try await response.body.collect(upTo: .bytes(Self.total))
        }
        #expect(failure?.code == .connectionLost)
    }

    @Test
    func cancellationEndsABodyThatIsWaitedFor() async throws {
        let begun = Lock(false)
        let server = try Self.server(sending: 10) {
            begun.withLock { $0 = true }
            return false
        }
        let request = try request(server, wholeUpTo: .bytes(Self.total))
        let load = Task {
            try await transport.exchange(request, via: path).body.collect(upTo: .bytes(Self.total)).count
        }
        while !begun.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
        load.cancel()
        let failure = await #expect(throws: LoadError.self) { _ = try await load.value }
        #expect(failure?.code == .cancelled)
    }
}
