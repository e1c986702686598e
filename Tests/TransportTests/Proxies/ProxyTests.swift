import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// What goes to a proxy, and what comes of it, looked at from the proxy's side.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTests {
    private let transport = Transport()
    private let heads = Lock<[String]>([])

    private func path(
        _ kind: Proxy.Kind, _ port: UInt16, authorization: String? = nil, credential: Credential? = nil
    ) throws -> ConnectionPath {
        let proxy = Proxy(kind, at: try Endpoint("127.0.0.1:\(port)"))
        return ConnectionPath(
            proxy: ProxyAccess(proxy, authorization: authorization.map { Redacted($0) }, credential: credential))
    }

    private func failure(_ url: String, _ path: ConnectionPath) async throws -> LoadError {
        var request = try ExchangeRequest(.get, RequestURL(url), headerFields: [.authorization: "planted"])
        request.connectTimeout = .seconds(2)
        do throws(LoadError) {
            _ = try await transport.exchange(request, via: path)
        } catch {
            return error
        }
        throw Unexpected("\(url) was loaded")
    }

    /// A proxy that says one thing to each head.
    private func proxy(_ answer: String) throws -> TestServer {
        try TestServer { [heads] connection in
            while let head = connection.readHead() {
                heads.withLock { $0.append(head) }
                connection.write(answer)
            }
        }
    }

    // MARK: HTTP

    @Test func aProxyGetsTheWholeURLAndItsOwnFieldBesides() async throws {
        let proxy = try proxy("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let path = try path(.http, proxy.port, authorization: "Basic cHJveHk=")
        for _ in 0..<2 {
            let request = ExchangeRequest(
                .get, try RequestURL("http://no-such-name.example/a?b"),
                headerFields: [.authorization: "Bearer server", .proxyAuthorization: "stray"])
            let response = try await transport.exchange(request, via: path)
            #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
            #expect(response.facts.connection.proxy == "http://127.0.0.1:\(proxy.port)")
        }
        let head = try #require(heads.withLock { $0.first })
        #expect(head.hasPrefix("GET http://no-such-name.example/a?b HTTP/1.1\r\n"), "\(head)")
        #expect(head.contains("Proxy-Authorization: Basic cHJveHk=\r\n") && !head.contains("stray"))
        #expect(head.contains("Authorization: Bearer server\r\n"))
        #expect(proxy.acceptedConnections == 1)
    }

    @Test func connectHasTheProxysFieldAndNoneOfTheServers() async throws {
        let proxy = try proxy("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        let path = try path(.http, proxy.port, authorization: "Basic cHJveHk=")
        let error = try await failure("https://a.example/", path)
        #expect(error == LoadError(.proxyRefused, "") && error.step == .proxyConnect, "\(error)")
        #expect(error.message.contains("403") && error.message.contains("127.0.0.1:\(proxy.port)"))
        let head = try #require(heads.withLock { $0.first })
        #expect(head.hasPrefix("CONNECT a.example:443 HTTP/1.1\r\n"), "\(head)")
        #expect(head.contains("Proxy-Authorization: Basic cHJveHk=\r\n") && !head.contains("planted"))
        #expect(!"\(error)".contains("cHJveHk"))
    }

    @Test func credentialsAndProxiesShareNoConnection() async throws {
        let servers = try (0..<2).map { _ in try proxy("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        for _ in 0..<2 {
            for server in servers {
                for authorization in [nil, "Basic YTox", "Basic YToy"] {
                    let path = try path(.http, server.port, authorization: authorization)
                    _ = try await transport.exchange(.init(.get, RequestURL("http://a.example/")), via: path)
                }
            }
        }
        #expect(servers.map(\.acceptedConnections) == [3, 3])
    }

    @Test func noProxyStandsBeforeARelay() async throws {
        let world = try World()
        let relay = try TestServer { _ in }
        var path = try world.path(relay)
        path.proxy = ProxyAccess(Proxy(.http, at: try Endpoint("127.0.0.1:1")))
        let error = try await failure("http://a.example/", path)
        #expect(error == LoadError(.proxyWithRelay, "") && error.step == .routing)
        #expect(relay.acceptedConnections == 0)
    }

    @Test func aDemandToConnectTellsItsChallenges() async throws {
        let proxy = try proxy(
            "HTTP/1.1 407 Auth\r\nProxy-Authenticate: Digest realm=\"a\"\r\nproxy-authenticate: Basic realm=\"b\"\r\n"
                + "Content-Length: 3\r\n\r\nbad")
        let error = try await failure("https://a.example/", path(.http, proxy.port))
        #expect(error == LoadError(.proxyAuthenticationRequired, "") && error.step == .proxyConnect)
        let challenge = try #require(error.underlying as? ProxyChallenge)
        #expect(challenge.head.headerFields[values: .proxyAuthenticate].count == 2)
    }

    @Test(arguments: [
        ("SSH-2.0-x\r\n\r\n", LoadError.Code.proxyProtocol), ("", .connectionLost),
        ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", .proxyProtocol),
        ("HTTP/1.1 502 Bad\r\nProxy-Status: x; error=dns_error\r\nContent-Length: 0\r\n\r\n", .proxyRefused),
    ])
    func unexpectedAnswersOfAProxyAreTypedErrors(_ answer: String, _ code: LoadError.Code) async throws {
        let proxy = try TestServer { connection in
            _ = connection.readHead()
            connection.write(answer)
        }
        let error = try await failure("https://a.example/", path(.http, proxy.port))
        #expect(error.code == code && error.step == .proxyConnect, "\(error)")
    }

    @Test func aProxyThatIsSilentIsNotWaitedForLongerThanTheTimeForConnecting() async throws {
        let proxy = try TestServer { $0.awaitEnd() }
        let error = try await failure("https://a.example/", path(.http, proxy.port))
        #expect(error == LoadError(.idleTimeout, "") && error.step == .proxyConnect, "\(error)")
    }

    @Test(arguments: Proxy.Kind.allCases, ["http", "https"])
    func anUnreachableProxyIsTyped(_ kind: Proxy.Kind, _ scheme: String) async throws {
        let port = try TestServer { _ in }.port
        let error = try await failure("\(scheme)://a.example/", path(kind, port))
        #expect(error == LoadError(.proxyUnreachable, "") && error.step == .connect, "\(error)")
        let unknown = Proxy(kind, at: try Endpoint("no-such-proxy.invalid:1"))
        let other = try await failure("\(scheme)://a.example/", ConnectionPath(proxy: ProxyAccess(unknown)))
        #expect(other == LoadError(.proxyUnreachable, "") && other.step == .nameLookup, "\(other)")
    }

    // MARK: TLS with the proxy

    @Test func aProxyThatIsNotTrustedGetsNothing() async throws {
        let authority = try TestAuthority()
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
        let proxy = try TestServer { [heads] connection in
            if let head = tls.accept(connection)?.readHead() { heads.withLock { $0.append(head) } }
        }
        let error = try await failure("https://a.example/", path(.https, proxy.port, authorization: "planted"))
        #expect(error == LoadError(.proxyNotTrusted, "") && error.step == .proxyTLS, "\(error)")
        #expect(heads.withLock { $0 } == [])
    }

    @Test func aProxyOfAnotherNameIsNotTrusted() async throws {
        let authority = try TestAuthority()
        let tls = try TestTLS(authority.server(names: ["other.example"]))
        let server = try TestServer { _ = tls.accept($0)?.readHead() }
        var proxy = Proxy(.https, at: try Endpoint("127.0.0.1:\(server.port)"))
        proxy.anchors = .only([try authority.der])
        let error = try await failure("http://a.example/", ConnectionPath(proxy: ProxyAccess(proxy)))
        #expect(error == LoadError(.proxyNotTrusted, "") && error.step == .proxyTLS, "\(error)")
    }

    @Test func peersWithoutTLSAreATypedError() async throws {
        let server = try TestServer { $0.write("HTTP/1.1 400 Bad\r\n\r\n") }
        let error = try await failure("http://a.example/", path(.https, server.port))
        #expect([.tlsFailed, .connectionLost].contains(error.code) && error.step == .proxyTLS, "\(error)")
    }

    // MARK: SOCKS

    @Test func socksLooksTheNameUp() async throws {
        let asked = Lock<[UInt8]>([])
        let proxy = try TestServer { connection in
            _ = connection.read()
            connection.write([5, 0])
            asked.withLock { $0 = connection.read() }
            connection.write([5, 4, 0, 1, 0, 0, 0, 0, 0, 0])
            connection.awaitEnd()
        }
        let error = try await failure("http://no-such-name.example/", path(.socks5, proxy.port))
        #expect(error == LoadError(.proxyRefused, "") && error.step == .proxyConnect, "\(error)")
        let name = Array("no-such-name.example".utf8)
        #expect(asked.withLock { $0 } == [5, 1, 0, 3, UInt8(name.count)] + name + [0, 80])
    }

    @Test(
        arguments: [
            ([5, 0xff], LoadError.Code.proxyAuthenticationRequired), ([4, 0], .proxyProtocol),
            ([5, 9], .proxyProtocol),
            (Array("HTTP/1.1 400\r\n".utf8), .proxyProtocol), ([], .connectionLost), ([5], .connectionLost),
        ] as [([UInt8], LoadError.Code)])
    func unexpectedAnswersOfASocksProxyAreTypedErrors(_ answer: [UInt8], _ code: LoadError.Code) async throws {
        let proxy = try TestServer { connection in
            _ = connection.read()
            connection.write(answer)
        }
        let error = try await failure("http://a.example/", path(.socks5, proxy.port))
        #expect(error.code == code && error.step == .proxyConnect, "\(error)")
    }
}
