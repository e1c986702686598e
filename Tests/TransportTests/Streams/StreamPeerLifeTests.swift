import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportTransport

/// How long a stream serves exchanges, and in which order.
@Suite(.timeLimit(.minutes(1))) struct StreamPeerLifeTests {
    private let fixture = StreamFixture()

    // MARK: One after another

    @Test func answersWithAnEndLetAnotherFollow() async throws {
        let answers = [
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
            TestConnection.ok, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: 1\r\n\r\n",
        ]
        let server = try TestServer { connection in
            for answer in answers where connection.readHead() != nil { connection.write(answer) }
            while connection.readHead() != nil { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") }
        }
        let (peer, _) = try await fixture.open(to: server)
        for (number, body) in ["", "", "ok", "", "ok"].enumerated() {
            let response = try await peer.exchange(fixture.request())
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array(body.utf8))
            #expect(response.facts.connection.isReused == (number > 0))
            #expect(response.facts.connection.httpVersion == "HTTP/1.1")
            #expect(response.facts.connection.remotePort == server.port)
            #expect((response.body.trailers == nil) == (number < 4))
        }
        for _ in 0..<2 {
            var request = try fixture.request()
            request.method = .head
            #expect(try await peer.exchange(request).head.headerFields[.contentLength] == "9")
        }
        #expect(server.acceptedConnections == 1)
    }

    /// A refusal before the end of a request closes the stream; one after it does not, even if the answer is here before
    /// the write has returned.
    @Test func anAnswerThatOvertakesItsWriteLetsAnotherFollow() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno") }
        let (_, stream) = try await fixture.open(to: server)
        let peer = StreamPeer(ByteStream(over: LateChannel(stream.channel)))
        for _ in 0..<2 { #expect(try await peer.body(fixture.request()) == "no") }
        #expect(server.acceptedConnections == 1)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "\(TestConnection.ok)HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx",
    ])
    func anAnswerThatLetsNoneFollowClosesTheStream(_ answer: String) async throws {
        let server = try TestServer { $0.answerAll(answer) }
        let (peer, _) = try await fixture.open(to: server)
        #expect(try await peer.body(fixture.request()) == "ok")
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func bytesThatComeUnaskedCloseTheStream() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(TestConnection.ok)
            connection.pause(.milliseconds(50))
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            connection.awaitEnd()
        }
        let (peer, stream) = try await fixture.open(to: server)
        #expect(try await peer.body(fixture.request()) == "ok")
        #expect(try await eventually { stream.receivedBytes > TestConnection.ok.utf8.count })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func bytesBeforeTheFirstExchangeAnswerItNot() async throws {
        let isAsked = Lock(false)
        let server = try TestServer { connection in
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            if connection.readHead() != nil { isAsked.withLock { $0 = true } }
        }
        let (peer, stream) = try await fixture.open(to: server)
        #expect(try await eventually { stream.receivedBytes > 0 })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
        #expect(try await eventually { server.openConnections == 0 })
        #expect(!isAsked.withLock { $0 })
    }

    @Test func whatWasReadBeforeTheFirstExchangeDoesNotPreventIt() async throws {
        let greeting = "220 ready\r\n"
        let server = try TestServer { connection in
            connection.write(greeting)
            connection.answerAll(TestConnection.ok)
        }
        let (peer, stream) = try await fixture.open(to: server)
        var read: [UInt8] = []
        while read.count < greeting.utf8.count, let chunk = try await stream.read(upTo: 4) { read += chunk }
        for _ in 0..<2 { #expect(try await peer.body(fixture.request()) == "ok") }
        #expect(server.acceptedConnections == 1)
    }

    @Test func anEndBetweenExchangesIsACannotConnect() async throws {
        let server = try TestServer { connection in
            if connection.readHead() != nil { connection.write(TestConnection.ok) }
        }
        let (peer, _) = try await fixture.open(to: server)
        #expect(try await peer.body(fixture.request()) == "ok")
        #expect(try await eventually { await peer.failure != nil })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
    }

    @Test func anEndBeforeAnAnswerIsALoss() async throws {
        let server = try TestServer { _ = $0.readHead() }
        let (peer, _) = try await fixture.open(to: server)
        await #expect(throws: LoadError(.connectionLost, "")) { try await peer.exchange(fixture.request()) }
    }

    @Test func theStreamServesOnePrincipal() async throws {
        let server = try TestServer { $0.answerAll(TestConnection.ok) }
        let (peer, _) = try await fixture.open(to: server)
        #expect(try await peer.body(fixture.request()) == "ok")
        let other = Principal("ann")
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request(), for: other) }
        #expect(try await peer.body(fixture.request()) == "ok")
    }

    @Test func aTunnelIsNotRequested() async throws {
        let server = try TestServer { $0.answerAll(TestConnection.ok) }
        let (peer, stream) = try await fixture.open(to: server)
        var request = try fixture.request()
        request.method = .connect
        let connect = request
        await #expect(throws: LoadError(.invalidRequest, "")) { try await peer.exchange(connect) }
        #expect(stream.sentBytes == 0)
    }

    // MARK: Idleness

    @Test func anIdleStreamIsClosed() async throws {
        let server = try TestServer { $0.answerAll(TestConnection.ok) }
        let (peer, _) = try await fixture.open(to: server, idleLifetime: .seconds(3))
        for _ in 0..<3 {
            #expect(try await peer.body(fixture.request()) == "ok")
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(server.acceptedConnections == 1)
        #expect(try await eventually { server.openConnections == 0 })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
    }

    /// An exchange that takes longer is not idle.
    @Test func aStreamInUseIsNotClosed() async throws {
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                connection.pause(.milliseconds(300))
                connection.write(TestConnection.ok)
            }
        }
        let (peer, _) = try await fixture.open(to: server, idleLifetime: .milliseconds(50))
        #expect(try await peer.body(fixture.request()) == "ok")
    }

    // MARK: Turns

    /// A server that answers when it is told to, and a peer with one exchange under way.
    private func busy() async throws -> (
        server: TestServer, peer: StreamPeer, go: Lock<Bool>, first: Task<String, any Error>
    ) {
        let go = Lock(false)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                while !go.withLock({ $0 }) { connection.pause(.milliseconds(5)) }
                connection.write(TestConnection.ok)
            }
        }
        let (peer, stream) = try await fixture.open(to: server)
        let request = try fixture.request()
        let first = Task { try await peer.body(request) }
        _ = try await eventually { stream.sentBytes > 0 }
        return (server, peer, go, first)
    }

    @Test func aCancelledWaitLeavesTheQueue() async throws {
        let (server, peer, go, first) = try await busy()
        let request = try fixture.request()
        let second = Task { try await peer.body(request) }
        let third = Task { try await peer.body(request) }
        second.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await second.value }
        go.withLock { $0 = true }
        #expect(try await first.value == "ok")
        #expect(try await third.value == "ok")
        #expect(server.acceptedConnections == 1)
    }

    @Test func theWaitForATurnEndsAtTheDeadline() async throws {
        let (server, peer, go, first) = try await busy()
        // A server stops when its last reference is released.
        defer { withExtendedLifetime(server) {} }
        var request = try fixture.request()
        (request.deadline, request.idleTimeout) = (.now + .milliseconds(100), .milliseconds(20))
        let late = request
        await #expect(throws: LoadError(.resourceTimeout, "")) { try await peer.exchange(late) }
        go.withLock { $0 = true }
        #expect(try await first.value == "ok")
    }

    @Test func thoseWhoWaitLearnOfTheEnd() async throws {
        let (server, peer, go, first) = try await busy()
        // The server's thread ends then.
        defer { go.withLock { $0 = true } }
        defer { withExtendedLifetime(server) {} }
        let request = try fixture.request()
        let second = Task { try await peer.body(request) }
        first.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await first.value }
        await #expect(throws: LoadError(.cannotConnect, "")) { try await second.value }
    }

    @Test func aDiscardedBodyEndsTheStream() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
            connection.awaitEnd()
        }
        let (peer, _) = try await fixture.open(to: server)
        let response = try await peer.exchange(fixture.request())
        response.body.discard()
        #expect(try await eventually { server.openConnections == 0 })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
    }

    /// As after a cancellation between the head and the body.
    @Test func anAnswerThatIsDroppedUnreadEndsTheStream() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
            connection.awaitEnd()
        }
        let (peer, _) = try await fixture.open(to: server)
        _ = try await peer.exchange(fixture.request())
        #expect(try await eventually { server.openConnections == 0 })
        await #expect(throws: LoadError(.cannotConnect, "")) { try await peer.exchange(fixture.request()) }
    }

    @Test func aFirstExchangeThatIsCancelledBeforeItBeginsClosesTheStream() async throws {
        let server = try TestServer { $0.awaitEnd() }
        var peer: StreamPeer? = try await fixture.open(to: server).peer
        let request = try fixture.request()
        let exchange = Task { [peer] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await peer?.exchange(request)
        }
        await #expect(throws: LoadError(.cancelled, "")) { try await exchange.value }
        peer = nil
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// A body that is not read makes no other exchange wait, if it is short.
    @Test func aShortBodyIsReadAhead() async throws {
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                connection.pause(.milliseconds(20))
                connection.write([UInt8](repeating: 1, count: 100_000))
            }
        }
        let (peer, _) = try await fixture.open(to: server)
        let first = try await peer.exchange(fixture.request())
        let second = try await peer.exchange(fixture.request())
        for response in [second, first] {
            #expect(try await response.body.collect(upTo: .mebibytes(1)).count == 100_000)
        }
        #expect(server.acceptedConnections == 1)
    }
}

/// A channel whose writes return 100 ms after they are done.
private final class LateChannel: ByteChannel {
    private let channel: any ByteChannel

    init(_ channel: any ByteChannel) { self.channel = channel }

    var endpoint: Endpoint { channel.endpoint }
    var facts: StreamFacts { channel.facts }
    var sentBytes: Int { channel.sentBytes }
    var receivedBytes: Int { channel.receivedBytes }
    var readBytes: Int { channel.readBytes }
    var unsentBytes: Int { channel.unsentBytes }
    var isBeingRead: Bool { channel.isBeingRead }
    var failure: LoadError? { channel.failure }

    func read(upTo limit: Int) async throws(LoadError) -> [UInt8]? { try await channel.read(upTo: limit) }

    func write(_ bytes: [UInt8]) async throws(LoadError) {
        try await channel.write(bytes)
        try? await Task.sleep(for: .milliseconds(100))
    }

    func send(_ bytes: [UInt8]) { channel.send(bytes) }
    func closeWrite() { channel.closeWrite() }
    func shutdown(within limit: Duration) { channel.shutdown(within: limit) }
    func close() { channel.close() }
    func reset() { channel.reset() }
    func whenOver(_ tell: @escaping @Sendable () -> Void) { channel.whenOver(tell) }
}
