import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Nothing that an app puts into a request makes a second line, or a second request, of it. Each engine writes its heads
/// by itself.
@Suite(.timeLimit(.minutes(1)), .onEveryCarrier) struct RequestInjectionTests {
    private static let breaks = ["\r\nX-Planted: 1", "\nX-Planted: 1", "\rX-Planted: 1", "\0X-Planted: 1"]

    /// What the server gets of a request: its head as lines.
    private func lines(_ change: (inout LoadRequest) -> Void) async throws -> [String] {
        let heads = Lock<[String]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                heads.withLock { $0.append(head) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var request = LoadRequest(.get, try server.url("/path"))
        change(&request)
        _ = try await Ordeal().session.data(for: request)
        let head = try #require(heads.withLock { $0.count == 1 ? $0[0] : nil })
        return head.split(whereSeparator: \.isNewline).map(String.init)
    }

    @Test(arguments: breaks) func aLineBreakInAValueIsASpace(_ text: String) async throws {
        let lines = try await lines { $0.headerFields[.custom("X-A")] = "a" + text }
        let spaces = String(repeating: " ", count: text.utf8.count { $0 < 0x20 })
        #expect(lines.contains("X-A: a\(spaces)X-Planted: 1"))
        #expect(!lines.contains { $0.hasPrefix("X-Planted") })
    }

    @Test(arguments: breaks + [" ", ":", ":authority", "", "ü", "(", "a b"]) func aNameIsAToken(_ text: String) {
        #expect(HTTPField.Name(text) == nil)
        if !text.isEmpty { #expect(HTTPField.Name("X-A" + text) == nil) }
    }

    @Test(arguments: breaks + [" ", "", "GET /"]) func aMethodIsAToken(_ text: String) {
        #expect(HTTPRequest.Method(text) == nil)
        if !text.isEmpty { #expect(HTTPRequest.Method("GET" + text) == nil) }
    }

    @Test(arguments: breaks + [" HTTP/1.1\r\nX-Planted: 1", "\t", " ", "\u{7f}"])
    func aURLHoldsNoLineBreak(_ text: String) {
        for url in ["http://a.example/p\(text)q", "http://a.example/?p\(text)q", "http://a\(text)b.example/"] {
            #expect(throws: AddressError.self) { try RequestURL(url) }
            #expect(throws: AddressError.self) { try RequestURL("http://a.example/").resolving("/p\(text)q") }
        }
    }

    @Test func escapesInAURLStayEncoded() async throws {
        let lines = try await lines { $0.url = (try? $0.url.resolving("/%0d%0aX-Planted:%201?%0a%00")) ?? $0.url }
        #expect(lines.first == "GET /%0d%0aX-Planted:%201?%0a%00 HTTP/1.1")
        #expect(!lines.contains { $0.hasPrefix("X-Planted") })
    }

    @Test func aTunnelIsNotARequest() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        let ordeal = try Ordeal()
        await #expect(throws: LoadError(.invalidRequest, "")) { try await ordeal.load(server, method: .connect) }
        // A plugin opens its stream before it asks for anything.
        #expect(server.acceptedConnections == 0 || StreamHandler.isUsed)
    }

    /// A second length or coding would make two requests of one.
    @Test(arguments: ["Content-Length", "Transfer-Encoding", "Host", "Connection", "Upgrade", "TE", "Keep-Alive"])
    func framingFieldsOfTheAppAreDropped(_ name: String) async throws {
        let lines = try await lines { $0.headerFields[.custom(name)] = "planted" }
        #expect(!lines.contains { $0.contains("planted") })
        #expect(lines.count { $0.lowercased().hasPrefix("host:") } == 1)
    }
}
