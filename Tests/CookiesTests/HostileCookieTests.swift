import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportCookies
@testable import SallyportSecureStore

/// What no server should send, on the wire: through the transport, the parser and the jar, and back.
///
/// What each engine reads or writes by itself runs on both; the others are about the jar.
@Suite(.timeLimit(.minutes(1))) struct HostileCookieTests {
    /// Answers the first request with a head of the test's own, and keeps the bytes of every one.
    private final class Server: Sendable {
        let server: TestServer
        private let seen: Lock<[[UInt8]]>
        var heads: [[UInt8]] { seen.withLock { $0 } }

        init(_ answer: [UInt8]) throws {
            let seen = Lock<[[UInt8]]>([])
            self.seen = seen
            server = try TestServer { client in
                while let head = Self.head(client) {
                    let isFirst = seen.withLock { seen in
                        seen.append(head)
                        return seen.count == 1
                    }
                    client.write(isFirst ? answer : Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
                }
            }
        }

        private static func head(_ client: TestConnection) -> [UInt8]? {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
                let bytes = client.read()
                if bytes.isEmpty { return nil }
                head += bytes
            }
            return head
        }
    }

    /// The `Cookie` line of the second request, after an answer with these lines; nil where it has none.
    private func second(
        _ lines: [[UInt8]], around head: (([UInt8]) -> [UInt8])? = nil
    ) async throws -> [UInt8]? {
        let block = Array(lines.map { $0 + [13, 10] }.joined())
        let plain = { Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".utf8) + $0 + [13, 10] }
        let server = try Server((head ?? plain)(block))
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let loading = URLLoadingSystem(gate: OpenGate(), stages: { _ in [CookieStage(jar: jar)] })
        let session = loading.makeSession()
        for _ in 0..<2 { _ = try await session.data(for: LoadRequest(.get, server.server.url())) }
        await loading.shutdown()
        fixture.store.close()
        let field = server.heads.last?.split(separator: 10).first { $0.starts(with: "Cookie: ".utf8) }
        return field.map { Array($0.dropFirst(8).dropLast()) }
    }

    private func second(_ lines: String..., around head: (([UInt8]) -> [UInt8])? = nil) async throws -> String? {
        try await second(lines.map { Array($0.utf8) }, around: head).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(.onBothEngines) func bytesAreSentBackUnchanged() async throws {
        let value: [UInt8] = [0xff, 0xfe, 0x22, 0x2c, 0x20, 0x80, 0xc3]
        let field = try await second([Array("Set-Cookie: a=".utf8) + value + Array("; Path=/".utf8)])
        #expect(field == Array("a=".utf8) + value)
    }

    @Test(.onBothEngines, arguments: [UInt8(1), 8, 11, 12, 14, 31, 127])
    func aControlSetsNothing(_ byte: UInt8) async throws {
        let lines = [
            Array("Set-Cookie: a=b".utf8) + [byte] + Array("c".utf8), Array("Set-Cookie: x".utf8) + [byte, 61, 98],
            Array("Set-Cookie: y=z; Path=/".utf8) + [byte, 97], Array("Set-Cookie: good=1".utf8),
        ]
        #expect(try await second(lines) == Array("good=1".utf8))
    }

    @Test(.onBothEngines) func namesOfFieldsHaveNoCaseAndFieldsAreNotJoined() async throws {
        let field = try await second(
            "set-cookie: a=1, b=2", "SET-COOKIE: c=3; path=/", "sEt-CoOkIe:d=4", "Set-Cookie2: e=5")
        #expect(field == "a=1, b=2; c=3; d=4")
    }

    @Test(.onBothEngines) func aFoldedFieldIsOneField() async throws {
        #expect(try await second("Set-Cookie: a=1;", " Path=/;", "\tSecure=; Max-Age=100") == nil, "it is secure")
        #expect(try await second("Set-Cookie: a=1;", " Path=/;", "\tMax-Age=100") == "a=1")
    }

    @Test(.onBothEngines) func interimAnswersAndTrailersSetNone() async throws {
        let field = try await second("Set-Cookie: final=1") { lines in
            let interim =
                "HTTP/1.1 103 Early Hints\r\nSet-Cookie: hint=1\r\n\r\nHTTP/1.1 100 Continue\r\nSet-Cookie: go=1\r\n\r\n"
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n"
            return Array(interim.utf8) + Array(head.utf8) + lines
                + Array("\r\n2\r\nok\r\n0\r\nSet-Cookie: trailer=1\r\n\r\n".utf8)
        }
        #expect(field == "final=1")
    }

    @Test(arguments: [301, 404, 500]) func everyStatusSetsCookies(_ status: Int) async throws {
        let field = try await second("Set-Cookie: a=\(status)") { lines in
            Array("HTTP/1.1 \(status) Whatever\r\nContent-Length: 0\r\n".utf8) + lines + [13, 10]
        }
        #expect(field == "a=\(status)")
    }

    @Test func aHeadFullOfCookiesLeaves180() async throws {
        let field = try #require(try await second((0..<3000).map { Array("Set-Cookie: n\($0)=v".utf8) }))
        let cookies = String(decoding: field, as: UTF8.self).split(separator: "; ")
        #expect(cookies.count == CookieJar.maximumPerDomain)
        #expect(cookies.last == "n2999=v" && cookies.first == "n2820=v")
    }

    @Test(.onBothEngines) func aHeadThatIsTooLongSetsNone() async throws {
        let lines = (0..<5000).map { Array("Set-Cookie: n\($0)=v".utf8) }
        await #expect(throws: LoadError(.responseTooLarge, "")) { try await second(lines) }
    }
}
