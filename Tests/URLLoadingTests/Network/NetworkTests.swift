import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// The whole pipeline over real connections on loopback.
@Suite(.timeLimit(.minutes(1))) struct NetworkTests {
    private let gate = StubGate()
    private let loading: URLLoadingSystem

    init() { loading = URLLoadingSystem(gate: gate) }

    @Test func aRedirectToAnotherPortLeavesTheSecretsBehind() async throws {
        let (heads, continuation) = AsyncStream.makeStream(of: String.self)
        let target = try TestServer { connection in
            continuation.yield(connection.readHead() ?? "")
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.awaitEnd()
        }
        let port = target.port
        let origin = try TestServer { connection in
            continuation.yield(connection.readHead() ?? "")
            connection.write(
                "HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:\(port)/x\r\nContent-Length: 0\r\n\r\n")
            connection.awaitEnd()
        }
        var request = LoadRequest(
            .post, try origin.url("/start"), headerFields: [.authorization: "Bearer planted", .cookie: "planted=1"],
            body: .text("body"))
        request.headerFields[.custom("X-Key")] = "planted"
        let answer = try await loading.session.data(for: request, upTo: .bytes(2))
        #expect(answer.body == Array("ok".utf8))
        var iterator = heads.makeAsyncIterator()
        let (first, second) = (await iterator.next() ?? "", await iterator.next() ?? "")
        #expect(first.contains("Bearer planted") && first.contains("planted=1"))
        #expect(second.hasPrefix("POST /x HTTP/1.1\r\n"))
        #expect(!second.contains("planted"))
        #expect(second.lowercased().contains("accept-encoding: gzip, deflate"))
        #expect(second.lowercased().contains("content-length: 4"))
    }

    @Test(arguments: [(1_000_000, true), (3_000_000, false)])
    func aCompressedBodyIsDecodedUpToItsLimit(_ count: Int, _ isWithinLimit: Bool) async throws {
        let body = [UInt8](repeating: 42, count: count)
        let encoded = Deflater.compress(body)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in encoded.prefix(100) { connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            let rest = Array(encoded.dropFirst(100))
            connection.write(Array("\(String(rest.count, radix: 16))\r\n".utf8) + rest + Array("\r\n0\r\n\r\n".utf8))
            connection.awaitEnd()
        }
        let load = { try await loading.session.data(for: LoadRequest(.get, server.url()), upTo: .mebibytes(16)).body }
        if isWithinLimit {
            #expect(try await load() == body)
        } else {
            await #expect(throws: LoadError(.decodingFailed, "")) { try await load() }
        }
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "HTTP/9.9 abc\r\n\r\n", "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 70_000) + "\r\n\r\n",
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10_000),
    ])
    func hostileAnswersEndInATypedError(_ answer: String) async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write(answer)
        }
        let error = await #expect(throws: LoadError.self) {
            try await loading.session.data(for: LoadRequest(.get, server.url()), upTo: .kibibytes(1))
        }
        let expected: Set<LoadError.Code> = [.protocolViolation, .connectionLost, .responseTooLarge]
        #expect(error.map { expected.contains($0.code) } == true, "\(String(describing: error))")
    }

    @Test func withdrawalEndsABodyInFlight() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            connection.awaitEnd()
        }
        let response = try await loading.session.bytes(for: LoadRequest(.get, server.url()))
        #expect(try await response.body.next() == [UInt8(ascii: "x")])
        gate.withdraw(.wiped)
        let error = await #expect(throws: LoadError(.withdrawn, "")) { try await response.body.next() }
        #expect((error?.underlying as? AccessDenied)?.code == .wiped)
    }

    @Test func withdrawalEndsARequestThatWaitsForItsHead() async throws {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = try TestServer { connection in
            _ = connection.readHead()
            continuation.yield()
            connection.awaitEnd()
        }
        let url = try server.url()
        let task = Task { try await loading.session.bytes(for: LoadRequest(.get, url)) }
        for await _ in arrivals { break }
        gate.withdraw(.blocked)
        await #expect(throws: LoadError(.withdrawn, "")) { try await task.value }
    }

    @Test func cancellationEndsTheConnection() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        let server = try TestServer { connection in
            _ = connection.readHead()
            continuation.yield("request")
            connection.awaitEnd()
            continuation.yield("end")
        }
        let url = try server.url()
        let task = Task { try await loading.session.bytes(for: LoadRequest(.get, url)) }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "request")
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
        #expect(await iterator.next() == "end")
    }

    @Test func aDroppedResponseEndsItsConnection() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            connection.awaitEnd()
            continuation.yield("end")
        }
        _ = try await loading.session.bytes(for: LoadRequest(.get, server.url()))
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "end")
    }

    @Test func theIdleTimeoutEndsALoad() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            connection.awaitEnd()
        }
        var request = LoadRequest(.get, try server.url())
        // Time enough for the connection and the answer's head.
        request.options.idleTimeout = .seconds(2)
        let response = try await loading.session.bytes(for: request)
        await #expect(throws: LoadError(.idleTimeout, "")) { try await response.body.collect(upTo: .kibibytes(1)) }
        request.options.idleTimeout = nil
        request.options.resourceTimeout = .seconds(1)
        await #expect(throws: LoadError(.resourceTimeout, "")) {
            try await loading.session.data(for: request, upTo: .kibibytes(1))
        }
    }

    @Test func theSystemSessionLoadsWithoutAnInstance() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let answer = try await SecureSession.shared.data(for: LoadRequest(.get, server.url()), upTo: .bytes(2))
        #expect(answer.body == Array("ok".utf8))
    }

    @Test func instancesNeverShareAConnection() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let other = URLLoadingSystem(gate: StubGate())
        for _ in 0..<3 {
            for loading in [loading, other] {
                _ = try await loading.session.data(for: LoadRequest(.get, server.url()), upTo: .bytes(2))
            }
        }
        #expect(server.acceptedConnections == 2)
    }
}
