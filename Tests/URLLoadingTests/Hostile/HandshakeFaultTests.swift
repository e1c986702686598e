import HTTPTypes
import SallyportCore
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// TLS that goes wrong: alerts, ends and garbage at each step (RFC 8446 §6).
@Suite(.timeLimit(.minutes(2)), .onBothEngines) struct HandshakeFaultTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    private let authority: TestAuthority
    private let ordeal: Ordeal
    private let tls: RawTLS

    init() throws {
        authority = try TestAuthority()
        ordeal = try Ordeal(trusting: authority)
        tls = try RawTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
    }

    /// The server's own part after the handshake; what it got is told.
    private func server(_ tls: RawTLS, _ act: @escaping @Sendable (TestTLSConnection) -> Void) throws -> TestServer {
        try TestServer { connection in
            guard let client = tls.accept(connection) else { return connection.finish() }
            act(client)
            connection.finish()
        }
    }

    private func failure(_ server: TestServer) async throws -> LoadError? {
        try await ordeal.failure(server, scheme: "https")
    }

    /// Every alert of RFC 8446 §6.2, as the answer to the first message.
    @Test(arguments: [10, 20, 22, 40, 47, 50, 51, 70, 71, 80, 86, 90, 109, 110, 112, 113, 115, 120, 0] as [UInt8])
    func anAlertAnswersTheFirstMessage(_ alert: UInt8) async throws {
        var tls = tls
        tls.alert = alert
        let failure = try await failure(server(tls) { _ in })
        let expected: Set<LoadError.Code> = alert == 70 ? [.noCommonTLSVersion] : [.tlsFailed, .connectionLost]
        #expect(failure.map { expected.contains($0.code) } == true, "\(alert): \(String(describing: failure))")
        #expect(failure?.step == .serverTLS)
    }

    /// A server from before TLS 1.3 answers by its own version, whatever is offered.
    @Test(arguments: [(0, "SSL3.0"), (1, "TLS1.0"), (2, "TLS1.1"), (9, "the version 0x309")] as [(UInt8, String)])
    func aVersionThatWasNotOfferedIsTold(_ minor: UInt8, _ name: String) async throws {
        let hello = [2, 0, 0, 38, 3, minor] + [UInt8](repeating: 7, count: 32) + [0, 0xc0, 0x13, 0]
        let server = try TestServer { connection in
            _ = connection.read()
            connection.write([0x16, 3, 1, 0, UInt8(hello.count)] + hello)
            connection.awaitEnd()
        }
        let failure = try await failure(server)
        #expect(failure?.code == .noCommonTLSVersion && failure?.step == .serverTLS, "\(String(describing: failure))")
        #expect(failure?.message == "The peer chose \(name); offered was TLS1.2, TLS1.3.")
    }

    @Test(arguments: [42, 43, 44, 45, 46, 48, 49] as [UInt8])
    func anAlertOnCertificatesIsTold(_ alert: UInt8) async throws {
        var tls = tls
        tls.alert = alert
        let failure = try await failure(server(tls) { _ in })
        #expect(failure?.code == .clientCertificateRefused, "\(alert): \(String(describing: failure))")
    }

    @Test(arguments: [false, true]) func anAlertInsteadOfAnAnswer(_ isTLS12: Bool) async throws {
        var tls = tls
        tls.isAtMostTLS12 = isTLS12
        let failure = try await failure(
            server(tls) { client in
                _ = client.readHead()
                client.sendAlert()
            })
        #expect(failure?.code == .connectionLost || failure?.code == .tlsFailed, "\(String(describing: failure))")
    }

    @Test(arguments: [false, true]) func anAlertWithinABody(_ isTLS12: Bool) async throws {
        var tls = tls
        tls.isAtMostTLS12 = isTLS12
        let failure = try await failure(
            server(tls) { client in
                _ = client.readHead()
                client.write(Self.answer + "hel")
                client.sendAlert()
            })
        #expect(failure?.code == .connectionLost || failure?.code == .tlsFailed, "\(String(describing: failure))")
        #expect(failure?.step == .response)
    }

    @Test func closeNotifyWithinABody() async throws {
        let failure = try await failure(
            server(tls) { client in
                _ = client.readHead()
                client.write(Self.answer + "hel")
                client.end()
            })
        #expect(failure?.code == .connectionLost, "\(String(describing: failure))")
    }

    @Test func closeNotifyInsteadOfAnAnswer() async throws {
        let failure = try await failure(
            server(tls) { client in
                _ = client.readHead()
                client.end()
            })
        #expect(failure?.code == .connectionLost, "\(String(describing: failure))")
    }

    /// A body without a length is whole only where TLS says so.
    @Test(arguments: [false, true]) func theEndOfABodyIsAuthentic(_ isTold: Bool) async throws {
        let server = try server(tls) { client in
            _ = client.readHead()
            client.write("HTTP/1.1 200 OK\r\n\r\nhello")
            if isTold { client.end() }
        }
        let failure = try await failure(server)
        #expect(failure?.code == (isTold ? nil : .connectionLost), "\(String(describing: failure))")
    }

    /// As above, over a connection that another load has made.
    @Test(arguments: [false, true]) func theEndOfALaterBodyIsAuthentic(_ isTold: Bool) async throws {
        let server = try server(tls) { client in
            _ = client.readHead()
            client.write(Self.answer + "hello")
            _ = client.readHead()
            client.write("HTTP/1.1 200 OK\r\n\r\nhello")
            if isTold { client.end() }
        }
        #expect(try await failure(server) == nil)
        let failure = try await failure(server)
        #expect(failure?.code == (isTold ? nil : .connectionLost), "\(String(describing: failure))")
        #expect(server.acceptedConnections == 1)
    }

    /// The connection ends after so many bytes of the server, from none to all of its part of the handshake.
    @Test(arguments: [0, 1, 4, 5, 6, 40, 100, 128, 132, 200, 400, 600], [false, true])
    func anEndWithinTheHandshake(_ count: Int, _ isTLS12: Bool) async throws {
        var tls = tls
        tls.isAtMostTLS12 = isTLS12
        let whole = try server(tls) { $0.answerAll(Self.answer) }
        let port = whole.port
        let cut = try TestServer { $0.relay(to: port, cuttingAfter: count) }
        let failure = try await failure(cut)
        let expected: Set<LoadError.Code> = [.connectionLost, .tlsFailed]
        #expect(failure.map { expected.contains($0.code) } == true, "\(count): \(String(describing: failure))")
        withExtendedLifetime(whole) {}
    }

    @Test(
        arguments: [
            [], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
            [0x16, 3, 3, 0xff, 0xff] + [UInt8](repeating: 0, count: 70_000),
            [0x16, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff], [0x15, 3, 3, 0, 2, 9, 9], [0x17, 3, 3, 0, 3, 1, 2, 3],
            [UInt8](repeating: 0x15, count: 4096),
        ] as [[UInt8]])
    func garbageForAHandshake(_ bytes: [UInt8]) async throws {
        let server = try TestServer { connection in
            _ = connection.read()
            connection.write(bytes)
            connection.finish()
        }
        let failure = try await failure(server)
        let expected: Set<LoadError.Code> = [.connectionLost, .tlsFailed]
        #expect(failure.map { expected.contains($0.code) } == true, "\(String(describing: failure))")
        #expect(failure?.step == .serverTLS)
    }

    @Test func aResetWithinTheHandshake() async throws {
        let server = try TestServer { connection in
            _ = connection.read()
            connection.reset()
        }
        let failure = try await failure(server)
        #expect(failure?.code == .connectionLost, "\(String(describing: failure))")
    }

    @Test(arguments: [0, 100]) func silenceInTheHandshake(_ count: Int) async throws {
        let whole = try server(tls) { $0.answerAll(Self.answer) }
        let port = whole.port
        let stalled = try TestServer { $0.relay(to: port, stallingAfter: count) }
        var ordeal = ordeal
        // Time enough for the connection, which is not what is to time out.
        (ordeal.idleTimeout, ordeal.resourceTimeout) = (.seconds(2), .seconds(15))
        let failure = try await ordeal.failure(stalled, scheme: "https")
        #expect(failure?.code == .idleTimeout && failure?.step == .serverTLS, "\(String(describing: failure))")
        withExtendedLifetime(whole) {}
    }

    @Test func tlsIsNotHTTP() async throws {
        let server = try server(tls) { $0.answerAll(Self.answer) }
        let failure = try await ordeal.failure(server)
        let expected: Set<LoadError.Code> = [.protocolViolation, .connectionLost]
        #expect(failure.map { expected.contains($0.code) } == true, "\(String(describing: failure))")
    }
}
