import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// What comes before and behind an answer: 100, 103, 417, trailers.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct InterimTests {
    private let transport = Transport()
    private let path = ConnectionPath()

    private func upload(_ server: TestServer, waiting: Duration? = .seconds(5), _ body: RequestBody = .text("body"))
        throws -> ExchangeRequest
    {
        var request = try ExchangeRequest(.post, server.url(), body: body)
        request.continueTimeout = waiting
        return request
    }

    // MARK: 100-continue

    @Test func theBodyWaitsUntilTheServerWantsIt() async throws {
        let early = Lock(0)
        let server = try TestServer { connection in
            guard let head = connection.readHead(), head.contains("Expect: 100-continue\r\n") else { return }
            var ready = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
            early.withLock { $0 = Int(poll(&ready, 1, 200)) }
            connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            let body = connection.read(upTo: 4)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.write(body)
            connection.awaitEnd()
        }
        let response = try await transport.exchange(upload(server), via: path)
        #expect(response.head.status == .ok)
        #expect(try await response.body.collect(upTo: .bytes(4)) == Array("body".utf8))
        #expect(early.withLock { $0 } == 0)
        #expect(server.acceptedConnections == 1)
    }

    @Test func aServerThatSaysNothingGetsTheBodyAfterTheTime() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            let body = connection.read(upTo: 4)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.write(body)
            connection.awaitEnd()
        }
        let start = ContinuousClock.now
        let response = try await transport.exchange(upload(server, waiting: .milliseconds(200)), via: path)
        #expect(try await response.body.collect(upTo: .bytes(4)) == Array("body".utf8))
        #expect(ContinuousClock.now - start >= .milliseconds(190))
    }

    @Test func nothingIsAskedUnlessItIsSaid() async throws {
        let server = try TestServer { connection in
            let head = connection.readHead() ?? ""
            let count = connection.read(upTo: 4).count
            let text = "\(head.lowercased().contains("expect")) \(count)"
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            connection.awaitEnd()
        }
        let response = try await transport.exchange(upload(server, waiting: nil), via: path)
        #expect(try await response.body.collect(upTo: .bytes(10)) == Array("false 4".utf8))
    }

    @Test(arguments: [
        RequestBody.text("body"), .once(length: 4) { try await $0.write(Array("body".utf8)) },
        .restartable(length: 4) { try await $0.write(Array("body".utf8)) },
    ])
    func aServerThatDoesNotUnderstandGetsItAgainWithoutTheQuestion(_ body: RequestBody) async throws {
        let heads = Lock<[Bool]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let asks = head.contains("100-continue")
                heads.withLock { $0.append(asks) }
                if asks {
                    connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")
                } else {
                    let body = connection.read(upTo: 4)
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                    connection.write(body)
                }
            }
        }
        let response = try await transport.exchange(upload(server, body), via: path)
        #expect(response.head.status == .ok)
        #expect(try await response.body.collect(upTo: .bytes(4)) == Array("body".utf8))
        #expect(heads.withLock { $0 } == [true, false])
    }

    @Test func a417ToARequestThatDidNotAskIsTheAnswer() async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")
        }
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        #expect(response.head.status.code == 417)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("no".utf8))
    }

    /// The server that gets no question answers at once, and the connection is kept.
    @Test func requestsWithoutContentAskNothing() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "empty")
        let heads = Lock<[String]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                heads.withLock { $0.append(head) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let bodies: [RequestBody?] = [nil, .bytes([]), .file(folder.file("empty"))]
        for (index, body) in bodies.enumerated() {
            var request = try ExchangeRequest(.post, server.url(), body: body)
            request.continueTimeout = .seconds(50)
            request.headerFields[.expect] = "100-continue"
            let response = try await transport.exchange(request, via: path)
            #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
            #expect(response.facts.connection.isReused == (index > 0))
        }
        #expect(heads.withLock { $0.count } == 3 && server.acceptedConnections == 1)
        for head in heads.withLock({ $0 }) { #expect(!head.lowercased().contains("expect"), "\(head)") }
    }

    @Test func aRefusalBeforeTheBodyIsTheAnswerAndTheBodyStays() async throws {
        let received = Lock(-1)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            var count = 0
            while case let chunk = connection.read(), !chunk.isEmpty { count += chunk.count }
            received.withLock { $0 = count }
        }
        let response = try await transport.exchange(upload(server), via: path)
        #expect(response.head.status.code == 413)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("no".utf8))
        #expect(try await eventually { received.withLock { $0 } == 0 })
    }

    /// nginx does not say over HTTP/2 that it wants the body.
    @Test func overHTTP2TheBodyIsSentAfterTheTimeToo() async throws {
        let web = try await WebServer.start()
        var request = try web.request("/stored")
        request.method = .put
        request.body = .text("body")
        request.continueTimeout = .milliseconds(100)
        let response = try await transport.exchange(request, via: web.path())
        #expect(response.head.status.code == 201 && response.facts.connection.httpVersion == "HTTP/2")
        #expect(try web.stored("stored") == Array("body".utf8))
    }

    // MARK: Early hints

    @Test func earlyHintsAreFactsAndNeverTheHead() async throws {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
        let server = try TestServer {
            $0.answerAll(
                "HTTP/1.1 102 Processing\r\n\r\n" + String(repeating: hint, count: 20)
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        #expect(response.head.status == .ok && response.head.headerFields[.init("Link")!] == nil)
        #expect(response.facts.earlyHints.count == 16)
        #expect(response.facts.earlyHints.allSatisfy { $0[.init("Link")!] == "</a.css>; rel=preload" })
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
    }

    // MARK: Trailers

    @Test(arguments: [0, 5, 300_000]) func trailersAreThereAfterTheBody(_ bytes: Int) async throws {
        let chunk = bytes == 0 ? "" : "\(String(bytes, radix: 16))\r\n\(String(repeating: "x", count: bytes))\r\n"
        let server = try TestServer {
            $0.answerAll(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\(chunk)0\r\nX-Sum: 7\r\n"
                    + "Set-Cookie: a=b\r\n\r\n")
        }
        for _ in 0..<2 {
            let response = try await transport.exchange(.init(.get, server.url()), via: path)
            #expect(response.head.headerFields[.setCookie] == nil)
            if bytes > 0 { #expect(response.body.trailers == nil) }
            #expect(try await response.body.collect(upTo: .mebibytes(1)).count == bytes)
            #expect(response.body.trailers?.count == 2)
            #expect(HTTPField.Name("X-Sum").map { response.body.trailers?[$0] } == "7")
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test func aBodyWithoutTrailersHasNone() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") }
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        #expect(try await response.body.collect(upTo: .bytes(0)).isEmpty && response.body.trailers == nil)
    }

    @Test func trailersCountForTheLimitOfTheHead() async throws {
        let server = try TestServer {
            $0.answerAll(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
                    + String(repeating: "X-Sum: \(String(repeating: "7", count: 1000))\r\n", count: 70) + "\r\n")
        }
        let error = await #expect(throws: LoadError.self) {
            let response = try await transport.exchange(.init(.get, server.url()), via: path)
            _ = try await response.body.collect(upTo: .bytes(10))
        }
        #expect(error?.code == .responseTooLarge)
    }
}
