import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Redirects to targets that must not be followed.
@Suite(.timeLimit(.minutes(1)), .onBothEngines) struct HostileRedirectTests {
    private static func server(to location: String, status: Int = 302) throws -> TestServer {
        try TestServer { $0.answerAll("HTTP/1.1 \(status) T\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n") }
    }

    @Test(arguments: [
        "file:///etc/passwd", "FILE:///etc/passwd", "ftp://ftp.example/", "gopher://a.example:25/_HELO",
        "dict://a.example/",
        "javascript:alert(1)", "data:text/plain,hello", "http+unix://%2Frun%2Fdocker.sock/", "ws://a.example/",
        "view-source:http://a.example/", "about:blank", "http:", "http://", "https:///path", "http://user@a.example/",
        "http://user:password@a.example/", "http://a.example:99999/", "http://a.example:-1/", "http://[::1/",
        "http://a b.example/", "http://a.example\u{1}/", "http://a.example/\u{7}/", "//", "http://%00/",
        "http://a..example/", "http://999.1.1.1/", "/a b",
    ])
    func aTargetThatIsNoURLOfTheWebIsRefused(_ location: String) async throws {
        let failure = try await Ordeal().failure(Self.server(to: location))
        #expect(failure?.code == .redirectRefused, "\(location): \(String(describing: failure))")
    }

    @Test func severalTargetsAreNone() async throws {
        let server = try Self.server(to: "/a\r\nLocation: /b")
        let failure = try await Ordeal().failure(server)
        #expect(failure?.code == .redirectRefused, "\(String(describing: failure))")
    }

    @Test(arguments: [
        "/a\r Set-Cookie: planted=1", "http://a.example/\rSet-Cookie: planted=1", "/a\0b",
    ])
    func aLineBreakInATargetSplitsNothing(_ location: String) async throws {
        let failure = try await Ordeal().failure(Self.server(to: location))
        #expect(failure?.code == .protocolViolation, "\(String(describing: failure))")
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func aLoopEnds(_ status: Int) async throws {
        let failure = try await Ordeal().failure(Self.server(to: "/again", status: status))
        #expect(failure?.code == .tooManyRedirects, "\(String(describing: failure))")
    }

    @Test func aTargetThatGrowsEnds() async throws {
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let path = head.split(separator: " ").dropFirst().first ?? "/"
                connection.write("HTTP/1.1 302 T\r\nLocation: \(path)\(path)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let failure = try await Ordeal().failure(server, "/aaaa")
        let expected: Set<LoadError.Code> = [.tooManyRedirects, .redirectRefused, .responseTooLarge]
        #expect(failure.map { expected.contains($0.code) } == true, "\(String(describing: failure))")
    }

    /// Judged by routing, as any URL: a target that is denied is refused before a connection is made, in any spelling.
    @Test(arguments: ["denied.localhost", "DENIED.localhost.", "%64enied.localhost", "sub.denied.localhost"])
    func aDeniedTargetIsNotReached(_ host: String) async throws {
        let target = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        let gate = StubGate()
        gate.route(by: RoutingTable(domains: [.init("denied.localhost", route: .deny)], default: .direct))
        let origin = try Self.server(to: "http://\(host):\(target.port)/")
        let session = URLLoadingSystem(gate: gate).session
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await session.data(for: LoadRequest(.get, origin.url()))
        }
        #expect(target.acceptedConnections == 0)
    }

    /// Loopback is a host as any other: where its route is direct it is reached, and where it is denied it is not.
    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "%6cocalhost"])
    func loopbackIsJudgedByRouting(_ host: String) async throws {
        let target = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let origin = try Self.server(to: "http://\(host):\(target.port)/")
        #expect(try await Ordeal().load(origin).body == Array("ok".utf8))
        let gate = StubGate()
        let session = URLLoadingSystem(gate: gate).session
        gate.route(by: RoutingTable(servers: [.init(try origin.endpoint, route: .direct)], default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await session.data(for: LoadRequest(.get, origin.url()))
        }
        #expect(target.acceptedConnections == 1)
    }
}
