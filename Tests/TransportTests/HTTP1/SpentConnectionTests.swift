import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// Connections of HTTP/1.1 that look as if they could serve another exchange, and must not.
@Suite(.timeLimit(.minutes(1)))
struct SpentConnectionTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private let loops = EventLoopGroup(count: 1, name: "spent")

    private func isReused(_ request: ExchangeRequest, over transport: Transport) async throws -> Bool {
        let response = try await transport.exchange(request, via: ConnectionPath())
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        return response.facts.connection.isReused
    }

    /// They come with the answer, and are gone when the next request is sent.
    @Test(arguments: ["Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"])
    func bytesBehindAnAnswerCloseTheConnection(_ answer: String) async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\n\(answer)\(Self.answer)") }
        let transport = Transport(loops: loops, engine: .own)
        for _ in 0..<2 { #expect(try await !isReused(.init(.get, server.url()), over: transport)) }
        #expect(server.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    private static let planted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"

    /// They come with the relay's answer to CONNECT, when no request can have been sent.
    @Test(arguments: [HTTPRequest.Method.get, .post])
    func bytesBeforeTheFirstRequestOfAConnectionAnswerItNot(_ method: HTTPRequest.Method) async throws {
        let world = try World()
        let connections = Lock(0)
        let relay = try world.relay { connection, tls in
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            client.write("HTTP/1.1 200 OK\r\n\r\n" + (isFirst ? Self.planted : ""))
            client.answerAll(Self.answer)
        }
        let transport = Transport(loops: loops, engine: .own)
        let request = try ExchangeRequest(method, RequestURL("http://a.example/"))
        let response = try await transport.exchange(request, via: world.path(relay))
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        #expect(relay.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// They come with the proxy's word that it is connected, and no TLS is between.
    @Test(arguments: [HTTP1Engine.own, .libcurl], [HTTPRequest.Method.get, .post])
    func bytesBeforeTheFirstRequestOfAPlainConnectionAnswerItNot(
        _ engine: HTTP1Engine, _ method: HTTPRequest.Method
    ) async throws {
        let proxy = try plantingProxy { $0 == 1 }
        let transport = Transport(loops: loops, engine: engine)
        let request = try ExchangeRequest(method, RequestURL("http://a.example/"))
        let response = try await transport.exchange(request, via: path(proxy))
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        #expect(response.facts.retries == 0 && proxy.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    @Test(arguments: [HTTP1Engine.own, .libcurl])
    func aServerThatAlwaysSpeaksFirstOverAPlainConnectionIsGivenUp(_ engine: HTTP1Engine) async throws {
        let proxy = try plantingProxy { _ in true }
        let transport = Transport(loops: loops, engine: engine)
        let request = try ExchangeRequest(.get, RequestURL("http://a.example/"))
        await #expect(throws: LoadError(.protocolViolation, "")) {
            try await transport.exchange(request, via: path(proxy))
        }
        #expect(try await eventually { proxy.openConnections == 0 })
        #expect(proxy.acceptedConnections == 5)
        await transport.shutdown()
        await loops.shutdown()
    }

    private func path(_ proxy: TestServer) throws -> ConnectionPath {
        ConnectionPath(proxy: ProxyAccess(Proxy(.socks5, at: try Endpoint("127.0.0.1:\(proxy.port)"))))
    }

    /// A SOCKS proxy, and the server behind it.
    ///
    /// - Parameter plants: whether an answer comes over the connection with this number before there is a request.
    private func plantingProxy(_ plants: @escaping @Sendable (Int) -> Bool) throws -> TestServer {
        let connections = Lock(0)
        return try TestServer { connection in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            _ = connection.read()
            connection.write([5, 0])
            _ = connection.read()
            let planted = plants(number) ? Array(Self.planted.utf8) : []
            connection.write([5, 0, 0, 1, 127, 0, 0, 1, 0, 80] + planted)
            connection.answerAll(Self.answer)
        }
    }

    @Test func aServerThatAlwaysSpeaksFirstGetsNoRequest() async throws {
        let world = try World()
        let isAsked = Lock(false)
        let relay = try world.relay { connection, tls in
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n" + Self.planted)
            if client.readHead() != nil { isAsked.withLock { $0 = true } }
        }
        let transport = Transport(loops: loops, engine: .own)
        let request = try ExchangeRequest(.get, RequestURL("http://a.example/"))
        await #expect(throws: LoadError(.protocolViolation, "")) {
            try await transport.exchange(request, via: world.path(relay))
        }
        #expect(try await eventually { relay.openConnections == 0 })
        #expect(!isAsked.withLock { $0 })
        await transport.shutdown()
        await loops.shutdown()
    }

    /// Keeps this thread until the server has ended its connections, and our side has been told.
    private func hold(until server: TestServer) {
        let end = ContinuousClock.now + .seconds(10)
        while server.openConnections > 0, ContinuousClock.now < end { usleep(1000) }
        usleep(10_000)
    }

    /// The server sends another answer while the loop is busy, and the loop takes the next request up before it looks
    /// at the socket.
    @Test(arguments: [HTTPRequest.Method.get, .post])
    func bytesThatTheLoopHasNotSeenAnswerNoRequest(_ method: HTTPRequest.Method) async throws {
        let (mayPlant, isPlanted) = (Lock(false), Lock(false))
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.answer)
            while !mayPlant.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            if isPlanted.withLock({ $0 }) { return connection.awaitEnd() }
            connection.write(Self.planted)
            isPlanted.withLock { $0 = true }
            connection.awaitEnd()
        }
        let transport = Transport(loops: loops, engine: .own)
        let isSecondReused = try await Task(executorPreference: loops.loops[0]) {
            _ = try await isReused(.init(.get, server.url()), over: transport)
            #expect(loops.loops[0].isCurrent && server.openConnections == 1)
            mayPlant.withLock { $0 = true }
            let end = ContinuousClock.now + .seconds(10)
            while !isPlanted.withLock({ $0 }), ContinuousClock.now < end { usleep(1000) }
            usleep(10_000)
            return try await isReused(.init(method, server.url()), over: transport)
        }.value
        #expect(!isSecondReused && server.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// The server answers before it has the whole request, and answers again while the rest of it is still to come.
    @Test func anAnswerBehindAnEarlyOneAnswersNoOtherRequest() async throws {
        let (mayPlant, isPlanted) = (Lock(false), Lock(false))
        let server = try TestServer { connection in
            guard let head = connection.readHead() else { return }
            connection.write(Self.answer)
            guard head.hasPrefix("PUT") else { return connection.awaitEnd() }
            while !mayPlant.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\nno")
            isPlanted.withLock { $0 = true }
            connection.awaitEnd()
        }
        let transport = Transport(loops: loops, engine: .own)
        let body = RequestBody.once(length: 4) { writer in
            try await writer.write(Array("bo".utf8))
            while !isPlanted.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            // What was planted has reached our side's kernel.
            try await Task.sleep(for: .milliseconds(20))
            try await writer.write(Array("dy".utf8))
        }
        var put = try ExchangeRequest(.put, server.url(), body: body)
        var get = try ExchangeRequest(.get, server.url())
        (put.connectionsPerOrigin, get.connectionsPerOrigin) = (1, 1)
        let first = try await transport.exchange(put, via: ConnectionPath())
        // It waits for the place of the first one, and is sent in the turn in which that one ends.
        async let isSecondReused = isReused(get, over: transport)
        try await Task.sleep(for: .milliseconds(50))
        mayPlant.withLock { $0 = true }
        #expect(try await first.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        #expect(try await !isSecondReused && server.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// libcurl watches neither the idle connection nor that of the request whose body is waited for.
    @Test func bytesOnAnIdleConnectionOfLibcurlAnswerNoRequestWhileAnotherIsPaused() async throws {
        let (mayPlant, isPlanted, mayEnd) = (Lock(false), Lock(false), Lock(false))
        let server = try TestServer { connection in
            guard let head = connection.readHead() else { return }
            if head.hasPrefix("PUT") {
                while !mayEnd.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
                connection.write(Self.answer)
                return connection.awaitEnd()
            }
            connection.write(Self.answer)
            while !mayPlant.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            guard !isPlanted.withLock({ $0 }) else { return connection.awaitEnd() }
            connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\nno")
            isPlanted.withLock { $0 = true }
            connection.awaitEnd()
        }
        let transport = Transport(loops: loops, engine: .libcurl)
        let body = RequestBody.once(length: 4) { writer in
            try await writer.write(Array("bo".utf8))
            while !mayEnd.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            try await writer.write(Array("dy".utf8))
        }
        async let paused = isReused(.init(.put, server.url(), body: body), over: transport)
        #expect(try await eventually { server.openConnections == 1 })
        #expect(try await !isReused(.init(.get, server.url()), over: transport))
        mayPlant.withLock { $0 = true }
        #expect(try await eventually { isPlanted.withLock { $0 } })
        try await Task.sleep(for: .milliseconds(20))
        #expect(try await !isReused(.init(.get, server.url()), over: transport))
        mayEnd.withLock { $0 = true }
        #expect(try await !paused && server.acceptedConnections == 3)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// The server ends the connection while the loop is busy, and the loop takes the next request up before it looks at
    /// the socket.
    @Test(arguments: [HTTPRequest.Method.get, .post])
    func anEndThatTheLoopHasNotSeenLosesNoRequest(_ method: HTTPRequest.Method) async throws {
        let mayEnd = Lock(false)
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.answer)
            while !mayEnd.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
        }
        let transport = Transport(loops: loops, engine: .own)
        let isSecondReused = try await Task(executorPreference: loops.loops[0]) {
            _ = try await isReused(.init(.get, server.url()), over: transport)
            #expect(loops.loops[0].isCurrent && server.openConnections == 1)
            mayEnd.withLock { $0 = true }
            hold(until: server)
            return try await isReused(.init(method, server.url()), over: transport)
        }.value
        #expect(!isSecondReused && server.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }
}
