import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// No connection is made to a denied address, whatever name leads there: with real connections, by names of this
/// machine.
@Suite(.timeLimit(.minutes(1))) struct DeniedAddressTests {
    private let gate = StubGate()
    private let loading: URLLoadingSystem

    init() { loading = URLLoadingSystem(gate: gate) }

    private static let loopback = ["127.0.0.0/8", "::1/128"].compactMap { IPNetwork($0) }

    private func deny(_ networks: [IPNetwork] = loopback, servers: [RoutingTable.Server] = []) {
        gate.route(by: RoutingTable(servers: servers, denying: networks, default: .direct))
    }

    private static func answering(_ location: String? = nil) throws -> TestServer {
        let head = location.map { "302 T\r\nLocation: \($0)" } ?? "200 OK"
        return try TestServer { $0.answerAll("HTTP/1.1 \(head)\r\nContent-Length: 0\r\n\r\n") }
    }

    private func refusal(_ url: String, in session: SecureSession? = nil) async -> LoadError? {
        await #expect(throws: LoadError.self) {
            _ = try await (session ?? loading.session).data(for: .get(url))
        }
    }

    @Test(arguments: ["localhost", "LOCALHOST.", "%6cocalhost"], ["http", "https"])
    func aNameThatLeadsThereIsRefusedBeforeAByteIsSent(_ host: String, _ scheme: String) async throws {
        let server = try Self.answering()
        deny()
        let error = await refusal("\(scheme)://\(host):\(server.port)/")
        #expect(error?.code == .refusedByPolicy)
        // If the machine has IPv6, either of the two addresses may be tried first.
        let rules = Self.loopback.map { "localhost:\(server.port): deny (network \($0))" }
        #expect(rules.contains { error?.message.contains($0) == true }, "\(String(describing: error))")
        guard case .denied(let decision)? = (error?.underlying as? AccessDenied)?.reason else {
            Issue.record("the decision is told")
            return
        }
        #expect(decision.route == .deny)
        #expect(server.acceptedConnections == 0)
    }

    @Test func oneDeniedAddressOfANameIsEnough() async throws {
        let server = try Self.answering()
        deny([try #require(IPNetwork("127.0.0.1/32"))])
        #expect(await refusal("http://localhost:\(server.port)/")?.code == .refusedByPolicy)
        #expect(server.acceptedConnections == 0)
    }

    @Test func aServerThatIsDeniedByItsAddressIsNotPassedByAName() async throws {
        let (server, other) = (try Self.answering(), try Self.answering())
        deny([], servers: [.init(try server.endpoint, route: .deny)])
        let error = await refusal("http://localhost:\(server.port)/")
        #expect(error?.code == .refusedByPolicy)
        #expect(error?.message.contains("server 127.0.0.1:\(server.port)") == true, "\(String(describing: error))")
        _ = try await loading.session.data(for: .get("http://localhost:\(other.port)/"))
        #expect(server.acceptedConnections == 0 && other.acceptedConnections == 1)
        let origin = try Self.answering("http://localhost:\(server.port)/")
        #expect(await refusal("http://localhost:\(origin.port)/")?.code == .refusedByPolicy, "a redirect's target too")
        #expect(server.acceptedConnections == 0)
    }

    /// Linux connects to the loopback address for the unspecified one.
    @Test(arguments: ["0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "0", "127.1", "0x7f000001"])
    func anotherFormOfTheAddressIsNoWayRound(_ host: String) async throws {
        let server = try Self.answering()
        deny([try #require(IPNetwork("127.0.0.0/8"))])
        #expect(await refusal("http://\(host):\(server.port)/")?.code == .refusedByPolicy)
        #expect(server.acceptedConnections == 0)
    }

    @Test func connectionsThatWereMadeUnderOtherRulesServeNoRequest() async throws {
        let server = try Self.answering()
        let url = "http://localhost:\(server.port)/"
        deny([])
        for _ in 0..<2 { _ = try await loading.session.data(for: .get(url)) }
        #expect(server.acceptedConnections == 1)
        deny()
        #expect(await refusal(url)?.code == .refusedByPolicy)
        #expect(server.acceptedConnections == 1)
        // The connection was closed when its address was denied; another table with the same rules makes no difference.
        deny([])
        _ = try await loading.session.data(for: .get(url))
        deny([])
        _ = try await loading.session.data(for: .get(url))
        #expect(server.acceptedConnections == 2)
    }

    @Test(arguments: [false, true]) func aStreamIsRefusedToo(_ isSecure: Bool) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let endpoint = try Endpoint("localhost:\(server.port)")
        deny()
        let session = loading.session
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            _ = try await session.streamTask(to: endpoint, isSecure: isSecure)
        }
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: ["http", "socks5"]) func aProxyAtADeniedAddressIsNoWayRound(_ kind: String) async throws {
        let proxy = try TestServer { $0.awaitEnd() }
        var configuration = SessionConfiguration()
        configuration.proxies = try .all(Proxy("\(kind)://localhost:\(proxy.port)"))
        deny()
        let error = await refusal("http://a.example/", in: loading.makeSession(configuration))
        #expect(error?.code == .refusedByPolicy && proxy.acceptedConnections == 0)
    }
}
