import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// Squid and microsocks between the transport and origins, TLS and tunnels included.
@Suite(.timeLimit(.minutes(2)))
struct RealProxyTests {
    private let authority: TestAuthority
    private let originTLS: TestTLS
    private let transport = Transport()

    init() throws {
        authority = try TestAuthority()
        originTLS = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
    }

    private func path(_ kind: Proxy.Kind, _ port: UInt16, credential: Credential? = nil) throws -> ConnectionPath {
        var proxy = Proxy(kind, at: try Endpoint("localhost:\(port)"))
        proxy.anchors = .only([try authority.der])
        return ConnectionPath(
            trust: .only([try authority.der]), proxy: ProxyAccess(proxy, credential: credential))
    }

    private func origin(_ heads: Lock<[String]>, _ scheme: String) throws -> TestServer {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        return try TestServer { [originTLS] connection in
            if scheme == "http" {
                while let head = connection.readHead() {
                    heads.withLock { $0.append(head) }
                    connection.write(answer)
                }
            } else if let connection = originTLS.accept(connection) {
                while let head = connection.readHead() {
                    heads.withLock { $0.append(head) }
                    connection.write(answer)
                }
            }
        }
    }

    /// Twice on one connection, with a report that tells the proxy's phases.
    private func check(_ scheme: String, _ path: ConnectionPath) async throws {
        let heads = Lock<[String]>([])
        let origin = try origin(heads, scheme)
        let reports = Lock<[ExchangeReport]>([])
        for _ in 0..<2 {
            var request = ExchangeRequest(.get, try origin.url("/x", scheme: scheme))
            request.reporter = { report in reports.withLock { $0.append(report) } }
            let response = try await transport.exchange(request, via: path)
            #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
            #expect(response.facts.connection.proxy == path.proxy.map { "\($0.proxy)" })
        }
        #expect(heads.withLock { $0 }.allSatisfy { !$0.contains("Proxy-Authorization") })
        let (first, second) = reports.withLock { ($0[0], $0[1]) }
        #expect(!first.connection.isReused && second.connection.isReused)
        #expect((first.timing.relaySecured > .zero) == (path.proxy?.proxy.kind == .https))
        #expect((first.timing.relayAnswered > .zero) == (scheme == "https"))
        #expect((first.tlsVersion != nil) == (scheme == "https") && first.tlsVersion == second.tlsVersion)
    }

    @Test func squidLoadsBothSchemesInTheClearAndOverTLS() async throws {
        let squid = try await Squid.start(authority.server())
        for scheme in ["http", "https"] {
            try await check(scheme, path(.http, squid.port))
            try await check(scheme, path(.https, squid.securePort))
        }
        #expect(try await eventually { squid.log.contains { $0.hasPrefix("200 CONNECT") } })
        #expect(try await eventually { squid.log.contains { $0.hasPrefix("200 GET http://") } })
    }

    @Test func squidRefusesWhatItCannotReach() async throws {
        let squid = try await Squid.start(authority.server())
        let port = try TestServer { _ in }.port
        let error = await #expect(throws: LoadError.self) {
            try await transport.exchange(
                .init(.get, RequestURL("https://127.0.0.1:\(port)/")), via: path(.https, squid.securePort))
        }
        #expect(error == LoadError(.proxyRefused, "") && error?.step == .proxyConnect, "\(String(describing: error))")
        // Asked for last, so that it lives until then; it writes the line behind the answer.
        #expect(try await eventually { squid.log.contains { $0.contains("CONNECT") } })
    }

    @Test func tunnelsGoThroughEachKind() async throws {
        let squid = try await Squid.start(authority.server())
        let socks = try await MicroSocks.start()
        let echo = try TestServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { connection.write(bytes) }
        }
        for path in [
            try path(.http, squid.port), try path(.https, squid.securePort), try path(.socks5, socks.port),
        ] {
            let tunnel = try await transport.tunnel(.init(to: Endpoint("127.0.0.1:\(echo.port)")), via: path)
            try await tunnel.write(Array("hello".utf8))
            #expect(try await tunnel.read() == Array("hello".utf8), "\(path.proxy?.proxy.description ?? "")")
            tunnel.close()
        }
    }

    @Test func microsocksLoadsBothSchemes() async throws {
        let socks = try await MicroSocks.start()
        for scheme in ["http", "https"] { try await check(scheme, path(.socks5, socks.port)) }
    }

    @Test func microsocksTakesItsUserAlone() async throws {
        let socks = try await MicroSocks.start(user: ("ann", "secret 1"))
        let ann = Credential(user: "ann", password: Redacted("secret 1"))
        try await check("https", path(.socks5, socks.port, credential: ann))
        let origin = try origin(Lock([]), "http")
        for wrong in [nil, Credential(user: "ann", password: Redacted("planted"))] {
            let error = await #expect(throws: LoadError(.proxyAuthenticationRequired, "")) {
                try await transport.exchange(
                    .init(.get, origin.url()), via: path(.socks5, socks.port, credential: wrong))
            }
            #expect(error?.step == .proxyConnect && !"\(String(describing: error))".contains("planted"))
        }
        #expect(origin.acceptedConnections == 0)
    }

    @Test func microsocksSaysWhatItCannotReach() async throws {
        let socks = try await MicroSocks.start()
        let port = try TestServer { _ in }.port
        await #expect(throws: LoadError(.proxyRefused, "")) {
            try await transport.exchange(
                .init(.get, RequestURL("http://127.0.0.1:\(port)/")), via: path(.socks5, socks.port))
        }
    }
}
