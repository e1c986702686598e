import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Answers that come byte by byte, or not at all. A real server would wait for a second where these wait for less.
@Suite(.timeLimit(.minutes(2)), .onEveryCarrier) struct SlowAnswerTests {
    struct Pace: Sendable, CustomTestStringConvertible {
        let name: String
        let first: String
        let next: String
        var testDescription: String { name }
    }

    private static let paces = [
        Pace(name: "header lines", first: "HTTP/1.1 200 OK\r\n", next: "X: y\r\n"),
        Pace(name: "a body", first: "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", next: "a"),
        Pace(name: "chunks", first: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", next: "1\r\na\r\n"),
        Pace(name: "a body without a length", first: "HTTP/1.1 200 OK\r\n\r\n", next: "a"),
        Pace(name: "interim heads", first: "", next: "HTTP/1.1 102 Processing\r\n\r\n"),
    ]

    private func server(_ pace: Pace) throws -> TestServer {
        try HostileCase(pace.name, .resourceTimeout) { connection in
            connection.write(pace.first)
            connection.trickle(pace.next, every: .milliseconds(50))
        }.server()
    }

    @Test(arguments: paces) func theTimeForTheWholeLoadEndsWhatIsSlow(_ pace: Pace) async throws {
        var ordeal = try Ordeal()
        (ordeal.idleTimeout, ordeal.resourceTimeout) = (.seconds(5), .seconds(1))
        let failure = try await ordeal.failure(server(pace))
        #expect(failure?.code == .resourceTimeout, "\(String(describing: failure))")
    }

    /// What makes no whole line moves nothing: that is idleness, however many bytes come.
    @Test(arguments: ["HTTP/1.1 ", "HTTP/1.1 200 OK\r\nX-Line: "])
    func aLineThatGrowsByteByByteCountsAsIdle(_ first: String) async throws {
        var ordeal = try Ordeal()
        (ordeal.idleTimeout, ordeal.resourceTimeout) = (.seconds(2), .seconds(15))
        let failure = try await ordeal.failure(server(Pace(name: "a line", first: first, next: "2")))
        #expect(failure?.code == .idleTimeout, "\(String(describing: failure))")
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"])
    func silenceEndsByTheIdleTimeout(_ first: String) async throws {
        let hostile = HostileCase("silence", .idleTimeout) { connection in
            connection.write(first)
            connection.awaitEnd()
        }
        var ordeal = try Ordeal()
        ordeal.idleTimeout = .seconds(2)
        let failure = try await ordeal.failure(hostile.server())
        #expect(failure?.code == .idleTimeout, "\(String(describing: failure))")
    }

    /// What came is there before the next second is over, also where much came at once before, so that the kernel
    /// reports only large portions to our engine.
    @Test func aByteASecondArrivesWithinTheNextSecond() async throws {
        let body = SlowBody()
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            body.answer(over: connection) { connection.write($0) }
            connection.finish()
        }
        let ordeal = try Ordeal()
        let response = try await ordeal.session.bytes(for: LoadRequest(.get, server.url()))
        // What the kernel holds by then is read as fast as can be, however slow this machine is.
        try await body.isHeldUp()
        while let chunk = try await response.body.next() { body.takes(chunk.count) }
        #expect(body.lateBytes.isEmpty)
        #expect(body.count == SlowBody.total)
        guard HTTP1Engine.chosen == .own, !StreamHandler.isUsed else { return }
        #expect(body.mostReported > 1 && body.lastReported == 1)
    }

    @Test func aServerThatReadsNothingEndsByTheIdleTimeout() async throws {
        let server = try TestServer { $0.pause(.seconds(10)) }
        var request = LoadRequest(.post, try server.url())
        request.options.idleTimeout = .seconds(2)
        request.body = .bytes([UInt8](repeating: 1, count: 32 << 20))
        let ordeal = try Ordeal()
        await #expect(throws: LoadError(.idleTimeout, "")) { try await ordeal.session.data(for: request) }
    }
}
