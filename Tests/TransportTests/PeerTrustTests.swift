import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportTransport
import TestSupport
import Testing

/// Which server a connection accepts, and which certificate it presents.
@Suite(.timeLimit(.minutes(1)))
struct PeerTrustTests {
    private let authority: TestAuthority
    private let transport = Transport()

    init() throws { authority = try TestAuthority() }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    private func server(
        usage: TestAuthority.Usage = .server, requiring clients: TestAuthority? = nil
    ) throws -> TestServer {
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)], usage: usage), requiring: clients)
        return try TestServer { connection in
            if let client = tls.accept(connection) { return client.answerAll(Self.answer) }
            // A close with unread bytes would be a reset, which may overtake the alert.
            connection.awaitEnd()
        }
    }

    private func failure(_ server: TestServer, _ path: ConnectionPath) async throws -> LoadError? {
        do {
            _ = try await transport.exchange(.init(.get, server.url(scheme: "https")), via: path)
            return nil
        } catch let error as LoadError { return error }
    }

    @Test(arguments: [TestAuthority.Usage.client, .unsaid, .any])
    func aGatewayShowsACertificateThatIsForServers(_ usage: TestAuthority.Usage) async throws {
        let server = try server(usage: usage)
        let error = try #require(await failure(server, ConnectionPath(trust: .gateway([authority.der]))))
        #expect(error.code == .serverNotTrusted && error.step == .serverTLS, "\(error)")
    }

    @Test func aGatewayWithACertificateForServersIsTaken() async throws {
        let error = try await failure(server(), ConnectionPath(trust: .gateway([authority.der])))
        #expect(error == nil, "\(String(describing: error))")
    }

    @Test func aGatewayOfAnotherAuthorityIsRefused() async throws {
        let error = try await failure(server(), ConnectionPath(trust: .gateway([TestAuthority().der])))
        #expect(error?.code == .serverNotTrusted, "\(String(describing: error))")
    }

    /// An authority of one's own may leave the extension out (RFC 5280 §4.2.1.12); a client's certificate is refused
    /// everywhere.
    @Test(arguments: [(TestAuthority.Usage.server, true), (.unsaid, true), (.client, false)])
    func anApplicationServerMayLeaveItsUsageUnsaid(_ usage: TestAuthority.Usage, _ isTaken: Bool) async throws {
        let error = try await failure(server(usage: usage), ConnectionPath(trust: .only([authority.der])))
        #expect((error == nil) == isTaken, "\(String(describing: error))")
    }

    @Test func authoritiesBesidesTheSystemsAreTrustedWhereTheyAreNamed() async throws {
        let server = try server()
        let error = try await failure(server, ConnectionPath(trust: .systemAnd([authority.der])))
        #expect(error == nil, "\(String(describing: error))")
        for trust in [TrustAnchors.system, try .systemAnd([TestAuthority().der]), .systemAnd([[1, 2, 3]])] {
            let error = try await failure(server, ConnectionPath(trust: trust))
            #expect(error?.code == .serverNotTrusted && error?.step == .serverTLS, "\(String(describing: error))")
        }
    }

    @Test func theServerSeesTheIdentityOfThePathAndNoOther() async throws {
        let peers = Lock<[[UInt8]?]>([])
        let clients = try TestAuthority(name: "Clients")
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]), requiring: clients)
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            peers.withLock { $0.append(client.peerCertificate) }
            client.answerAll(Self.answer)
        }
        let identities = try [clients.client(), clients.client()]
        for identity in identities + identities {
            let path = try ConnectionPath(trust: .only([authority.der]), identity: identity.clientIdentity)
            #expect(try await failure(server, path) == nil)
        }
        #expect(try peers.withLock { $0 } == identities.map { try $0.der })
    }

    @Test func aRefusedOrMissingIdentityIsTold() async throws {
        let server = try server(requiring: TestAuthority(name: "Clients"))
        let stranger = try TestAuthority(name: "Strangers").client().clientIdentity
        for identity in [nil, stranger] {
            let path = try ConnectionPath(trust: .only([authority.der]), identity: identity)
            let error = try #require(await failure(server, path))
            #expect(error.code == .clientCertificateRefused && error.step == .serverTLS, "\(error)")
        }
    }
}
