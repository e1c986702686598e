import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportTransport

/// Bodies of requests over a stream, while the answer may already come.
@Suite(.timeLimit(.minutes(1))) struct StreamUploadTests {
    private let fixture = StreamFixture()

    /// What a producer has written, and whether it has ended.
    private struct Production {
        var bytes = 0
        var isOver = false
    }

    private static func body(
        _ production: Lock<Production>, of count: Int, length: Int64? = nil
    ) -> RequestBody {
        .restartable(length: length) { writer in
            defer { production.withLock { $0.isOver = true } }
            let chunk = [UInt8](repeating: 7, count: 64 << 10)
            for _ in 0..<count / chunk.count {
                try await writer.write(chunk)
                production.withLock { $0.bytes += chunk.count }
            }
        }
    }

    // MARK: Pace

    @Test(arguments: [true, false]) func aSlowServerSlowsTheBodyDown(_ hasLength: Bool) async throws {
        let total = 64 << 20
        let production = Lock(Production())
        let isRead = Lock(false)
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            while !isRead.withLock({ $0 }) { connection.pause(.milliseconds(5)) }
            // The framing of chunks: the digits of 64 KiB, and two line breaks; the last one and its end.
            let framing = hasLength ? 0 : total >> 16 * 9 + 5
            connection.write(connection.skip(total + framing) ? TestConnection.ok : "")
            connection.awaitEnd()
        }
        let (peer, _) = try await fixture.open(to: server)
        let request = try fixture.request(
            body: Self.body(production, of: total, length: hasLength ? Int64(total) : nil))
        let load = Task { try await peer.body(request) }
        var before = -1
        // Until it stands still.
        while case let now = production.withLock({ $0.bytes }), now == 0 || now > before {
            before = now
            try await Task.sleep(for: .milliseconds(100))
        }
        // The socket's buffers are the most of it.
        #expect(before < 24 << 20)
        isRead.withLock { $0 = true }
        #expect(try await load.value == "ok")
        #expect(production.withLock { $0.bytes } == total)
    }

    @Test func aServerThatTakesABodySlowlyIsNotIdle() throws {
        var request = try fixture.request(body: .bytes([UInt8](repeating: 1, count: 1 << 20)))
        request.idleTimeout = .seconds(1)
        let exchange = try StreamExchange(request, since: .now, after: FieldList())
        let due = exchange.dueAt
        #expect(exchange.overdue(at: due, sentBytes: 1) == nil)
        #expect(exchange.dueAt == due.advanced(by: .seconds(1)))
        #expect(exchange.overdue(at: exchange.dueAt, sentBytes: 1)?.code == .idleTimeout)
    }

    @Test func aSlowReaderSlowsTheServerDown() async throws {
        let total = 64 << 20
        let written = Lock(0)
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let chunk = [UInt8](repeating: 7, count: 64 << 10)
            for _ in 0..<total / chunk.count where connection.write(chunk) { written.withLock { $0 += chunk.count } }
            connection.awaitEnd()
        }
        let (peer, _) = try await fixture.open(to: server)
        var request = try fixture.request()
        // A thread of a busy machine may get no processor for a second or two.
        request.idleTimeout = .seconds(3)
        let response = try await peer.exchange(request)
        // Longer than the idle time-out, which stands still while the reader is what is waited for.
        try await Task.sleep(for: .seconds(4))
        #expect(written.withLock { $0 } < 24 << 20)
        var count = 0
        while let chunk = try await response.body.next() { count += chunk.count }
        #expect(count == total)
    }

    // MARK: Answers before the end of a body

    @Test func anAnswerMayComeWhileTheBodyIsSent() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil, connection.skip(2) else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            guard connection.skip(2) else { return }
            connection.write("cd")
            connection.answerAll(TestConnection.ok)
        }
        let (peer, _) = try await fixture.open(to: server)
        let (signals, signal) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 4) { writer in
            try await writer.write([1, 2])
            for await _ in signals {}
            try await writer.write([3, 4])
        }
        let response = try await peer.exchange(fixture.request(body: body))
        #expect(try await response.body.next() == Array("ab".utf8))
        signal.finish()
        #expect(try await response.body.next() == Array("cd".utf8))
        #expect(try await response.body.next() == nil)
        #expect(try await peer.body(fixture.request()) == "ok")
        #expect(server.acceptedConnections == 1)
    }

    /// The exchange is over when both are.
    @Test func anAnswerMayBeWholeBeforeTheBody() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(TestConnection.ok)
            guard connection.skip(4) else { return }
            connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
        }
        let (peer, _) = try await fixture.open(to: server)
        let (signals, signal) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 4) { writer in
            for await _ in signals {}
            try await writer.write([1, 2, 3, 4])
        }
        let response = try await peer.exchange(fixture.request(body: body))
        #expect(try await response.body.next() == Array("ok".utf8))
        let next = try fixture.request()
        let second = Task { try await peer.body(next) }
        signal.finish()
        #expect(try await response.body.next() == nil)
        #expect(try await second.value == "next")
    }

    @Test(arguments: [false, true]) func aRefusalEndsTheBody(_ staysOpen: Bool) async throws {
        let production = Lock(Production())
        let server = try TestServer { connection in
            // A body that is refused before it begins is never begun.
            guard connection.readHead() != nil, connection.skip(64 << 10) else { return }
            connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
            if staysOpen { connection.awaitEnd() } else { connection.finish() }
        }
        let (peer, _) = try await fixture.open(to: server)
        let response = try await peer.exchange(fixture.request(body: Self.body(production, of: 1 << 30)))
        #expect(response.head.status.code == 413)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("no".utf8))
        #expect(try await eventually { production.withLock { $0.isOver } })
        #expect(production.withLock { $0.bytes } < 1 << 30)
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// The body's source has nothing, and the server has refused the rest: it is the server that is waited for.
    @Test func silenceBehindARefusalEndsByTheIdleTimeout() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n")
            connection.awaitEnd()
        }
        let (peer, _) = try await fixture.open(to: server)
        let (held, hold) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 5) { _ in
            for await _ in held {}
        }
        var request = try fixture.request(body: body)
        request.idleTimeout = .seconds(1)
        request.deadline = .now + .seconds(6)
        let response = try await peer.exchange(request)
        #expect(response.head.status.code == 413)
        await #expect(throws: LoadError(.idleTimeout, "")) { try await response.body.collect(upTo: .bytes(2)) }
        #expect(server.acceptedConnections == 1)
        hold.finish()
    }

    // MARK: Expectations

    private func asking(_ body: RequestBody = .text("body"), waiting: Duration = .seconds(5)) throws -> ExchangeRequest
    {
        var request = try fixture.request(body: body)
        request.continueTimeout = waiting
        return request
    }

    @Test func anEmptyBodyAsksNothing() async throws {
        let hasAsked = Lock(false)
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                if head.lowercased().contains("expect") { hasAsked.withLock { $0 = true } }
                connection.write(TestConnection.ok)
            }
        }
        let (peer, _) = try await fixture.open(to: server)
        for _ in 0..<2 { #expect(try await peer.body(asking(.bytes([]))) == "ok") }
        #expect(!hasAsked.withLock { $0 } && server.acceptedConnections == 1)
    }

    @Test(arguments: [true, false]) func theBodyWaitsForTheServerOrTheTime(_ isWanted: Bool) async throws {
        let early = Lock(0)
        let server = try TestServer { connection in
            while let head = connection.readHead(), head.contains("Expect: 100-continue\r\n") {
                if isWanted {
                    early.withLock { $0 += connection.waits(for: .milliseconds(100)) ? 0 : 1 }
                    connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                }
                if connection.skip(4) { connection.write(TestConnection.ok) }
            }
        }
        let (peer, _) = try await fixture.open(to: server)
        for _ in 0..<2 {
            let start = ContinuousClock.now
            let request = try asking(waiting: isWanted ? .seconds(20) : .milliseconds(100))
            #expect(try await peer.body(request) == "ok")
            #expect(isWanted || ContinuousClock.now - start >= .milliseconds(95))
        }
        #expect(early.withLock { $0 } == 0 && server.acceptedConnections == 1)
    }

    /// There is no other connection for the request without the expectation, and the server may still read a body on
    /// this one.
    @Test func aRefusedExpectationIsTheAnswer() async throws {
        let received = Lock(-1)
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")
            var count = 0
            while case let chunk = connection.read(), !chunk.isEmpty { count += chunk.count }
            received.withLock { $0 = count }
        }
        let (peer, _) = try await fixture.open(to: server)
        let response = try await peer.exchange(asking())
        #expect(response.head.status.code == 417)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("no".utf8))
        #expect(try await eventually { received.withLock { $0 } == 0 })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(asking()) }
    }

    // MARK: Bodies that fail

    private struct Failure: Error {}

    @Test func aBodyThatFailsEndsTheExchange() async throws {
        let bodies: [RequestBody] = [
            .restartable { _ in throw Failure() }, .once(length: 4) { try await $0.write([1, 2]) },
            .once(length: 1) { try await $0.write([1, 2]) },
        ]
        for body in bodies {
            let server = try TestServer { $0.awaitEnd() }
            let (peer, _) = try await fixture.open(to: server)
            await #expect(throws: LoadError(.requestBodyFailed, "")) {
                try await peer.exchange(fixture.request(body: body))
            }
            #expect(try await eventually { server.openConnections == 0 })
        }
    }

    @Test func anEmptyBodyIsAWholeRequest() async throws {
        let server = try TestServer { $0.answerAll(TestConnection.ok) }
        let (peer, _) = try await fixture.open(to: server)
        for body in [RequestBody.bytes([]), .once(length: 0) { _ in }] {
            #expect(try await peer.body(fixture.request(body: body)) == "ok")
        }
    }
}
