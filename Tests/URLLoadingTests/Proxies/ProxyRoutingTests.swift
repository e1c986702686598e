import HTTPTypes
import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Where a session's proxies stand beside the administrator's routes.
@Suite(.timeLimit(.minutes(1)))
struct ProxyRoutingTests {
    private func configuration(except hosts: [String] = []) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.proxies = try .all(Proxy("http://proxy.example:3128"), except: hosts)
        return configuration
    }

    private func relayed(_ fixture: Fixture) throws {
        fixture.gate.route(by: RoutingTable(default: .relay), relay: try .stub())
    }

    @Test func aDirectRouteGoesThroughTheProxy() async throws {
        let fixture = Fixture()
        let session = fixture.loading.makeSession(try configuration())
        _ = try await session.text("http://a.example/")
        let exchange = try #require(fixture.client.exchanges.first)
        #expect(exchange.path.proxy?.proxy.description == "http://proxy.example:3128" && exchange.path.relay == nil)
    }

    @Test func aRelayedRouteWithAProxyIsRefusedBeforeAnyConnection() async throws {
        let fixture = Fixture()
        try relayed(fixture)
        let session = fixture.loading.makeSession(try configuration(except: ["b.example"]))
        for scheme in ["http", "https"] {
            let error = await #expect(throws: LoadError(.proxyWithRelay, "")) {
                try await session.text("\(scheme)://a.example/")
            }
            #expect(error?.step == .routing)
        }
        #expect(fixture.client.exchanges.isEmpty)
    }

    @Test func noConnectionIsMadeForIt() async throws {
        let (proxy, relay) = (try TestServer { _ in }, try TestServer { _ in })
        let gate = StubGate()
        let access = try RelayAccess(
            cluster: "main", relays: [.init(Endpoint("127.0.0.1:\(relay.port)"), priority: 1)], authorities: [],
            identity: ClientIdentity(certificates: [], privateKey: Redacted("")))
        gate.route(by: RoutingTable(default: .relay), relay: access)
        var configuration = SessionConfiguration()
        configuration.proxies = try .all(Proxy("socks5://127.0.0.1:\(proxy.port)"))
        let loading = URLLoadingSystem(gate: gate)
        await #expect(throws: LoadError(.proxyWithRelay, "")) {
            try await loading.makeSession(configuration).text("http://127.0.0.1/")
        }
        #expect(proxy.acceptedConnections == 0 && relay.acceptedConnections == 0)
        await loading.shutdown()
    }

    @Test func anExceptionGoesTheRelayAsUsual() async throws {
        let fixture = Fixture()
        try relayed(fixture)
        let session = fixture.loading.makeSession(try configuration(except: [".example"]))
        _ = try await session.text("https://a.example/")
        let exchange = try #require(fixture.client.exchanges.first)
        #expect(exchange.path.relay != nil && exchange.path.proxy == nil)
    }

    @Test func aRedirectAsksForItsOwnProxy() async throws {
        let fixture = Fixture(answers: [.redirect(302, to: "http://b.example/"), .text("done")])
        let session = fixture.loading.makeSession(try configuration(except: ["b.example"]))
        #expect(try await session.text("http://a.example/") == "done")
        #expect(fixture.client.exchanges.map { $0.path.proxy != nil } == [true, false])
    }

    @Test func deniedStaysDenied() async throws {
        let fixture = Fixture()
        fixture.gate.route(by: RoutingTable(default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await fixture.loading.makeSession(configuration()).text("http://a.example/")
        }
        #expect(fixture.client.exchanges.isEmpty)
    }

    @Test(arguments: [false, true])
    func socksIsToldTheRequestsUserBeforeItsOwn(_ hasOwn: Bool) async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        let settings = try Proxy("socks5://p:1", credential: Credential(user: "settings", password: Redacted("1")))
        configuration.proxies = try .all(settings)
        var request = try LoadRequest.get("http://a.example/")
        if hasOwn { request.options.proxyCredential = Credential(user: "request", password: Redacted("2")) }
        _ = try await fixture.loading.makeSession(configuration).data(for: request)
        let access = try #require(fixture.client.exchanges.first?.path.proxy)
        #expect(access.credential?.user == (hasOwn ? "request" : "settings") && access.authorization == nil)
    }

    @Test func theSystemSessionTellsTheProxyAtOnce() async throws {
        let client = StubClient([.text("ok")])
        var configuration = SessionConfiguration()
        let credential = Credential(user: "ann", password: Redacted("pässword"))
        configuration.proxies = try .all(Proxy("https://p:1", credential: credential))
        let session = SecureSession(configuration, of: LoadingEngine(client: client))
        _ = try await session.text("http://a.example/")
        #expect(client.exchanges.first?.path.proxy?.authorization?.reveal() == "Basic YW5uOnDDpHNzd29yZA==")
    }

    @Test(arguments: [false, true])
    func theSystemSessionTellsAProxyNothingThatOthersRead(_ isAllowed: Bool) async throws {
        let client = StubClient([.text("ok")])
        var configuration = SessionConfiguration()
        configuration.proxies = try .all(
            Proxy("http://p:1", credential: Credential(user: "ann", password: Redacted("1"))))
        configuration.allowsBasicOverPlainHTTP = isAllowed
        let session = SecureSession(configuration, of: LoadingEngine(client: client))
        _ = try await session.text("http://a.example/")
        #expect((client.exchanges.first?.path.proxy?.authorization != nil) == isAllowed)
    }

    @Test func aProxyHasItsOwnTrust() throws {
        var proxy = try Proxy("https://p:1")
        for trust in [ServerTrust.system, .only([[1]]), .systemAnd([[2]])] {
            proxy.trust = trust
            #expect(proxy.trust == trust)
        }
    }

    @Test func aStreamOfBytesGoesThroughTheProxyAndTellsItTheCredential() async throws {
        let heads = Lock<[String]>([])
        let proxy = try TestServer { connection in
            heads.withLock { $0.append(connection.readHead() ?? "") }
            connection.write("HTTP/1.1 200 OK\r\n\r\nhello")
            connection.awaitEnd()
        }
        var configuration = SessionConfiguration()
        let ann = Credential(user: "ann", password: Redacted("1"))
        configuration.proxies = try .all(Proxy("http://127.0.0.1:\(proxy.port)", credential: ann))
        configuration.allowsBasicOverPlainHTTP = true
        let gate = StubGate()
        let loading = URLLoadingSystem(gate: gate)
        let session = loading.makeSession(configuration)
        let tunnel = try await session.tunnels.open(.init(to: Endpoint("a.example:7")))
        #expect(try await tunnel.read() == Array("hello".utf8))
        tunnel.close()
        let head = heads.withLock { $0[0] }
        #expect(head.hasPrefix("CONNECT a.example:7 ") && head.contains("Proxy-Authorization: Basic YW5uOjE=\r\n"))
        gate.forbid(.basic)
        try await session.tunnels.open(.init(to: Endpoint("a.example:7"))).close()
        #expect(heads.withLock { $0.count == 2 && !$0[1].contains("Authorization") })
        gate.allow(.basic)
        configuration.allowsBasicOverPlainHTTP = false
        try await loading.makeSession(configuration).tunnels.open(.init(to: Endpoint("a.example:7"))).close()
        #expect(heads.withLock { $0.count == 3 && !$0[2].contains("Authorization") }, "others would read it")
        gate.route(by: RoutingTable(default: .relay), relay: try .stub())
        await #expect(throws: LoadError(.proxyWithRelay, "")) {
            try await session.tunnels.open(.init(to: Endpoint("a.example:443")))
        }
        #expect(proxy.acceptedConnections == 3)
        await loading.shutdown()
    }
}
