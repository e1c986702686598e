import HTTPTypes
import SallyportBase
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// What a request asks of the transport, and what the transport brings, seen through a session and its tasks.
@Suite(.timeLimit(.minutes(1))) struct SessionPassageTests {
    private let session = URLLoadingSystem(gate: StubGate()).session

    @Test func aBodyWaitsForTheServerWhereTheRequestSaysSo() async throws {
        let heads = Lock<[Bool]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let asks = head.contains("Expect: 100-continue")
                heads.withLock { $0.append(asks) }
                if asks { connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
                let body = connection.read(upTo: 4)
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                connection.write(body)
            }
        }
        for timeout in [nil, Duration.seconds(5)] {
            var request = LoadRequest(.post, try server.url())
            request.options.continueTimeout = timeout
            #expect(try await session.upload(for: request, from: .text("body")).body == Array("body".utf8))
            #expect(try await session.uploadTask(for: request, from: .text("body")).value.body == Array("body".utf8))
        }
        #expect(heads.withLock { $0 } == [false, false, true, true])
    }

    @Test func trailersAndHintsComeThroughDecoding() async throws {
        let text = Array(repeating: UInt8(ascii: "t"), count: 100_000)
        let coded = Deflater.compress(text)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                connection.write(
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n\(String(coded.count, radix: 16))\r\n")
                connection.write(coded)
                connection.write("\r\n0\r\nX-Sum: 7\r\n\r\n")
            }
        }
        for isTask in [false, true] {
            let request = LoadRequest(.get, try server.url())
            let response =
                isTask ? try await session.bytesTask(for: request).value : try await session.bytes(for: request)
            #expect(response.facts.hops.first?.earlyHints.count == 1)
            #expect(try await response.body.collect(upTo: .mebibytes(1)) == text)
            #expect(response.body.trailers?[.custom("X-Sum")] == "7")
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.head, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\n", 200),
        (.get, "HTTP/1.1 204 No Content\r\n\r\n", 204),
        (.get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\n", 304),
        (.get, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
        (.get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
        (.delete, "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", 205),
    ])
    func answersWithoutABodyEnd(_ method: HTTPRequest.Method, _ answer: String, _ status: Int) async throws {
        let server = try TestServer { $0.answerAll(answer) }
        let request = LoadRequest(method, try server.url())
        for _ in 0..<2 {
            let answer = try await session.data(for: request)
            let (body, head) = (answer.body, answer.head)
            #expect(body.isEmpty && head.status.code == status)
        }
        let task = session.dataTask(for: request)
        #expect(try await task.value.body.isEmpty && task.state == .completed)
        let streamed = session.bytesTask(for: request)
        #expect(try await streamed.value.body.next() == nil)
        #expect(streamed.state == .completed)
        #expect(server.acceptedConnections == 1)
    }
}
