import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportFoundationBridge
import SallyportURLLoading
import TestSupport
import Testing

/// The results of native tasks: whole bodies, heads and final URLs, for every kind of task.
@Suite(.timeLimit(.minutes(2))) struct AnswerTests {
    private let tenant = Tenant()

    private static let large = Payload.bytes(3_000_000)

    /// Comes in many chunks, with pauses between some.
    private func largeServer() throws -> TestServer {
        try TestServer { connection in
            while connection.readHead() != nil {
                connection.write("HTTP/1.1 200 OK\r\nX-Kind: large\r\nContent-Length: \(Self.large.count)\r\n\r\n")
                for start in stride(from: 0, to: Self.large.count, by: 500_000) {
                    connection.write(Array(Self.large[start..<start + 500_000]))
                }
            }
        }
    }

    @Test func asyncCallersGetEveryChunk() async throws {
        let server = try largeServer()
        let (data, response) = try await tenant.native().data(from: server.native())
        #expect(data == Data(Self.large))
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-kind") == "large")
        #expect(tenant.gate.asked == 1)
    }

    /// A proxy may add a field in another spelling than the server's.
    @Test func fieldsOfOneNameInTwoSpellingsAreJoined() async throws {
        let server = try RecordingServer { _ in
            "HTTP/1.1 200 OK\r\nVary: Accept\r\nx-own: 1\r\nvary: Origin\r\nX-Own: 2\r\nContent-Length: 0\r\n\r\n"
        }
        let response = try await tenant.native().data(from: server.url()).1 as? HTTPURLResponse
        #expect(response?.value(forHTTPHeaderField: "Vary") == "Accept, Origin")
        #expect(response?.value(forHTTPHeaderField: "X-Own") == "1, 2")
    }

    @Test(arguments: [false, true]) func completionHandlersGetEveryChunk(hasDelegate: Bool) async throws {
        let server = try largeServer()
        let session = tenant.native(delegate: hasDelegate ? Collector() : nil)
        let url = try server.native()
        let data = await withCheckedContinuation { continuation in
            session.dataTask(with: url) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(data == Data(Self.large))
    }

    @Test func delegatesGetTheBodyInParts() async throws {
        let (server, collector) = (try largeServer(), Collector())
        try tenant.native(delegate: collector).dataTask(with: server.native()).resume()
        let seen = try await collector.end()
        #expect(seen.error == nil && seen.response.map(status) == 200)
        #expect(collector.body == Data(Self.large))
        #expect(seen.chunks.count > 3)
    }

    @Test func aBodyThatComesAtOnceHasALimit() async throws {
        let server = try RecordingServer(body: String(repeating: "a", count: 1025))
        let url = try server.url()
        let error = try await failure { _ = try await tenant.native(upTo: .kibibytes(1)).data(from: url) }
        #expect(error.code == .dataLengthExceedsMaximum && error.loadError?.code == .responseTooLarge)
        #expect(try await tenant.native(upTo: .bytes(1025)).data(from: url).0.count == 1025)
    }

    @Test func aSlowDelegateSlowsTheServerDown() async throws {
        let sent = Lock(0)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            let chunk = [UInt8](repeating: 1, count: 1 << 20)
            while connection.write(chunk) { sent.withLock { $0 += chunk.count } }
        }
        let collector = Collector(pause: .milliseconds(20))
        let task = try tenant.native(delegate: collector).dataTask(with: server.native())
        task.resume()
        #expect(try await eventually { collector.seen.bytes > 1 << 20 })
        let (given, taken) = (sent.withLock { $0 }, collector.seen.bytes)
        #expect(given - taken < 32 << 20, "\(given) bytes for \(taken)")
        task.cancel()
        #expect((try await collector.end().error as? URLError)?.code == .cancelled)
    }

    @Test(arguments: [("HEAD", 200, 0), ("GET", 204, 0), ("GET", 304, 0), ("GET", 404, 4), ("GET", 500, 4)])
    func everyStatusIsAnAnswer(method: String, code: Int, count: Int) async throws {
        let server = try RecordingServer { head in
            let body = head.hasPrefix("HEAD") || code == 204 || code == 304 ? "" : "body"
            return "HTTP/1.1 \(code) S\r\n\(code == 204 ? "" : "Content-Length: 4\r\n")\r\n\(body)"
        }
        var request = try URLRequest(url: server.url())
        request.httpMethod = method
        let (data, response) = try await tenant.native().data(for: request)
        #expect(status(response) == code && data.count == count)
    }

    @Test func redirectsAreFollowedInside() async throws {
        let collector = Collector()
        let server = try RecordingServer { head in
            head.hasPrefix("GET /start ")
                ? "HTTP/1.1 302 F\r\nLocation: deep/end?x=1\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        }
        try tenant.native(delegate: collector).dataTask(with: server.url("/start")).resume()
        let seen = try await collector.end()
        #expect(seen.redirects == 0)
        #expect(try seen.response?.url == server.url("/deep/end?x=1"))
        #expect(server.seen.count == 2)
    }

    @Test func aDecodedBodyHasNoFieldsOfTheEncodedOne() async throws {
        let zipped: [UInt8] = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0, 0x80, 0x88,
            0xf9, 0xe5, 0x11, 0, 0, 0,
        ]
        let accepted = Lock("")
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                accepted.withLock { $0 = head.lowercased() }
                connection.write(
                    Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(zipped.count)\r\n\r\n".utf8)
                        + zipped)
            }
        }
        var request = try URLRequest(url: server.native())
        for codings in [nil, "gzip", "br, gzip;q=0.5"] {
            request.setValue(codings, forHTTPHeaderField: "Accept-Encoding")
            let (data, response) = try await tenant.native().data(for: request)
            #expect(data == Data("hello hello hello".utf8))
            let head = try #require(response as? HTTPURLResponse)
            #expect(head.value(forHTTPHeaderField: "Content-Encoding") == nil)
            #expect(head.value(forHTTPHeaderField: "Content-Length") == nil)
            #expect(accepted.withLock { $0 }.contains("accept-encoding: gzip, deflate\r\n"))
        }
    }

    /// FoundationNetworking would hang, or load it again by itself and directly.
    @Test(arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer, Basic realm=\"x\""])
    func aRefusedRequestIsAnAnswerAndTheDelegateIsNotAsked(challenge: String) async throws {
        let server = try RecordingServer { _ in
            "HTTP/1.1 401 U\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 2\r\n\r\nno"
        }
        let collector = Collector()
        try tenant.native(delegate: collector).dataTask(with: server.url()).resume()
        let seen = try await collector.end()
        #expect(seen.response.map(status) == 401 && collector.body == Data("no".utf8))
        #expect(seen.challenges == 0 && server.seen.count == 1)
        let head = seen.response as? HTTPURLResponse
        #expect(head?.value(forHTTPHeaderField: "X-Withheld-WWW-Authenticate") == challenge)
    }
}
