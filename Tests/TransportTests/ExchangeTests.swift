import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct ExchangeTests {
    private let transport = Transport()
    private let path = ConnectionPath()

    @Test func answersWithHeadAndBody() async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 200 OK\r\nX-A: 1\r\nX-Empty:\r\nx-a:  two \r\nContent-Length: 5\r\n\r\nhello")
        }
        let response = try await transport.exchange(.init(.get, server.url("/a?b=c")), via: path)
        #expect(response.head.status == .ok)
        #expect(response.head.headerFields[values: .init("X-A")!] == ["1", "two"])
        #expect(response.head.headerFields[.init("X-Empty")!] == "")
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        #expect(!response.facts.connection.isReused)
        #expect(response.facts.connection.httpVersion == "HTTP/1.1")
        #expect(response.facts.connection.remoteAddress == "127.0.0.1")
        #expect(response.facts.timing.firstByte > .zero)
    }

    @Test func usesAConnectionAgain() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        for turn in 0..<20 {
            let response = try await transport.exchange(.init(.get, server.url()), via: path)
            _ = try await response.body.collect(upTo: .bytes(2))
            #expect(response.facts.connection.isReused == (turn > 0))
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test func partitionsNeverShareAConnection() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        for principal in ["ann", "bob", "ann", "bob"] {
            let response = try await transport.exchange(
                .init(.get, server.url()), via: ConnectionPath(partition: .of(principal)))
            _ = try await response.body.collect(upTo: .bytes(2))
        }
        #expect(server.acceptedConnections == 2)
        transport.closeConnections { $0.partition == .of("ann") }
        _ = try await transport.exchange(.init(.get, server.url()), via: ConnectionPath(partition: .of("bob")))
        #expect(server.acceptedConnections == 2)
        _ = try await transport.exchange(.init(.get, server.url()), via: ConnectionPath(partition: .of("ann")))
        #expect(server.acceptedConnections == 3)
    }

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ])
    func bodilessAnswersEnd(_ answer: String) async throws {
        let server = try TestServer { $0.answerAll(answer) }
        for _ in 0..<2 {
            let response = try await transport.exchange(.init(.get, server.url()), via: path)
            #expect(try await response.body.collect(upTo: .bytes(0)) == [])
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test func headHasNoBodyAndTheConnectionServesAGetNext() async throws {
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (head.hasPrefix("HEAD ") ? "" : "ok"))
            }
        }
        for method in [HTTPRequest.Method.head, .get, .head, .get, .options, .get] {
            let response = try await transport.exchange(.init(method, server.url()), via: path)
            let body = try await response.body.collect(upTo: .bytes(2))
            #expect(body.count == (method == .head ? 0 : 2))
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test func readsChunksAndDropsInterimHeadsAndTrailers() async throws {
        let server = try TestServer {
            $0.answerAll(
                "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n")
        }
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        #expect(response.head.headerFields.count == 1)
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("abcde".utf8))
    }

    @Test func sendsOnlyWhatItMust() async throws {
        let heads = Lock<[String]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                heads.withLock { $0.append(head) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var request = try ExchangeRequest(.post, server.url())
        request.headerFields[.init("Host")!] = "evil"
        request.headerFields[.contentLength] = "77"
        request.headerFields[.init("X-Empty")!] = ""
        _ = try await transport.exchange(request, via: path)
        let head = try #require(heads.withLock { $0.first }).lowercased()
        #expect(head.contains("host: 127.0.0.1:\(server.port)\r\n"))
        #expect(!head.contains("evil") && !head.contains("expect:") && !head.contains("content-type"))
        #expect(head.contains("content-length: 0\r\n"))
        #expect(head.contains("x-empty:\r\n"))
    }

    @Test func manyAtOnce() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let url = try server.url()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    for _ in 0..<20 {
                        let response = try await transport.exchange(.init(.get, url), via: path)
                        #expect(try await response.body.collect(upTo: .bytes(2)).count == 2)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.acceptedConnections <= 32)
    }
}
