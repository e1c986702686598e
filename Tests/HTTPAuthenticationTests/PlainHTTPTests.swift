import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// When a password is sent over plain http, which anyone on the network path can read.
@Suite(.timeLimit(.minutes(1)))
struct PlainHTTPTests {
    private static let ann = Credential(user: "ann", password: Redacted("secret"))
    /// `ann:secret`.
    private static let field = "Authorization: Basic YW5uOnNlY3JldA==\r\n"
    private static let basic = "WWW-Authenticate: Basic realm=\"r\"\r\n"
    private static let digest =
        "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n"

    private let credentials = CredentialStorage()

    private func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> SecureSession {
        var configuration = SessionConfiguration()
        try change(&configuration)
        let stage = AuthenticationStage(credentials: credentials)
        return URLLoadingSystem(gate: OpenGate(), stages: { _ in [stage] }).makeSession(configuration)
    }

    /// Challenges each request that does not carry `ann:secret`, and records all.
    private final class Origin: Sendable {
        private let server: TestServer
        private let seen: Lock<[String]>

        init(_ offers: String, status: Int = 401, with tls: TestTLS? = nil) throws {
            let seen = Lock<[String]>([])
            @Sendable func answer(_ head: String) -> String {
                seen.withLock { $0.append(head) }
                let isKnown = head.contains("uthorization: Basic YW5uOnNlY3JldA==\r\n")
                return "HTTP/1.1 \(isKnown ? 200 : status) X\r\n\(isKnown ? "" : offers)Content-Length: 0\r\n\r\n"
            }
            self.seen = seen
            server = try TestServer { connection in
                guard let tls else {
                    while let head = connection.readHead() { connection.write(answer(head)) }
                    return
                }
                guard let secure = tls.accept(connection) else { return }
                while let head = secure.readHead() { secure.write(answer(head)) }
            }
        }

        var heads: [String] { seen.withLock { $0 } }
        var port: UInt16 { server.port }
        /// How often a password was sent.
        var passwords: Int { heads.filter { $0.contains("uthorization: Basic ") }.count }
        func url(_ scheme: String = "http") throws -> RequestURL { try server.url(scheme: scheme) }
    }

    private func load(
        _ url: RequestURL, in session: SecureSession, delegate: (any SessionDelegate)? = nil,
        _ change: (inout LoadOptions) -> Void = { $0.credential = Self.ann }
    ) async throws -> (status: Int, record: LoadRecord?) {
        var request = LoadRequest(.get, url)
        request.options.isRecorded = true
        change(&request.options)
        let response = try await session.bytes(for: request, delegate: delegate)
        _ = try await response.body.collect(upTo: .kibibytes(1))
        return (response.head.status.code, response.record)
    }

    private final class Delegate: SessionDelegate {
        let asked = Lock<[AuthenticationMethod]>([])

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            guard !challenge.protectionSpace.method.isOfConnection else { return .notImplemented }
            asked.withLock { $0.append(challenge.protectionSpace.method) }
            return .use(PlainHTTPTests.ann)
        }
    }

    // MARK: Servers

    @Test func basicBeforeDigestSendsNoPassword() async throws {
        let origin = try RecordingOrigin("HTTP/1.1 401 U\r\n\(Self.basic)\(Self.digest)Content-Length: 0\r\n\r\n")
        #expect(try await load(origin.url(), in: session()).status == 401)
        let heads = origin.heads
        #expect(heads.allSatisfy { !$0.contains("Basic ") }, "\(heads)")
        #expect(heads.contains { $0.contains("Authorization: Digest username=\"ann\"") }, "\(heads)")
    }

    @Test func basicAloneIsTheServersAnswerAndTheRecordSaysWhy() async throws {
        let origin = try Origin(Self.basic)
        let (status, record) = try await load(origin.url(), in: session())
        #expect(status == 401 && origin.heads.count == 1 && origin.passwords == 0)
        let noted = try #require(record?.decisions.first { $0.kind == .withheld })
        #expect(noted.value == "authorization")
        #expect(noted.reason == "basic over plain http to server http://127.0.0.1:\(origin.port)")
        #expect(record?.json.contains("secret") == false)
    }

    @Test func withoutAPasswordNoneIsWithheld() async throws {
        let origin = try Origin(Self.basic)
        let (status, record) = try await load(origin.url(), in: session()) { _ in }
        #expect(status == 401 && record?.decisions.contains { $0.kind == .withheld } == false)
    }

    @Test func theAppIsNotAskedForAPasswordThatMayNotBeSaid() async throws {
        let (origin, delegate) = (try Origin(Self.basic + Self.digest), Delegate())
        #expect(try await load(origin.url(), in: session(), delegate: delegate) { _ in }.status == 401)
        #expect(delegate.asked.withLock { Set($0) } == [.digest] && origin.passwords == 0)
    }

    @Test func theSessionOrTheRequestAllowsIt() async throws {
        let origin = try Origin(Self.basic + Self.digest)
        let open = try session { $0.allowsBasicOverPlainHTTP = true }
        #expect(try await load(origin.url(), in: open).status == 200)
        await credentials.clear()
        let closed = try session()
        let own = try await load(origin.url(), in: closed) {
            $0.credential = Self.ann
            $0.allowsBasicOverPlainHTTP = true
        }
        #expect(own.status == 200 && origin.passwords == 2)
        let refused = try await load(origin.url(), in: open) {
            $0.credential = Self.ann
            $0.allowsBasicOverPlainHTTP = false
        }
        #expect(refused.status == 401 && origin.passwords == 2)
    }

    /// A credential that one session may send must not be sent by another that may not, though they share the accepted
    /// ones.
    @Test func anAcceptedPasswordIsNotSentUnaskedWhereForbidden() async throws {
        let origin = try Origin(Self.basic)
        #expect(try await load(origin.url(), in: session { $0.allowsBasicOverPlainHTTP = true }).status == 200)
        let count = origin.passwords
        let (status, record) = try await load(origin.url(), in: session()) { _ in }
        #expect(status == 401 && origin.passwords == count)
        #expect(record?.decisions.contains { $0.kind == .withheld } == true)
    }

    @Test func aDefaultCredentialForTheVerySpaceIsTheAppsWord() async throws {
        let origin = try Origin(Self.basic)
        let text = try origin.url().origin
        await credentials.setDefault(Self.ann, for: ProtectionSpace(origin: text, realm: "other", method: .basic))
        #expect(try await load(origin.url(), in: session()) { _ in }.status == 401)
        await credentials.setDefault(Self.ann, for: ProtectionSpace(origin: text, realm: "r", method: .basic))
        #expect(try await load(origin.url(), in: session()) { _ in }.status == 200)
        #expect(try await load(origin.url(), in: session()) { _ in }.status == 200)
        #expect(origin.passwords == 2)
    }

    @Test func overTLSTheServersOrderCounts() async throws {
        let authority = try TestAuthority()
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
        let origin = try Origin(Self.basic + Self.digest, with: tls)
        let session = try session { $0.trust = .only([try authority.der]) }
        #expect(try await load(origin.url("https"), in: session).status == 200)
        #expect(origin.heads.count == 2 && origin.passwords == 1)
    }

    // MARK: Proxies

    private func proxied(
        _ proxy: Origin, _ text: String = "http", allows: Bool = false
    ) throws -> SecureSession {
        try session {
            $0.proxies = try .all(Proxy("\(text)://127.0.0.1:\(proxy.port)", credential: Self.ann))
            $0.allowsBasicOverPlainHTTP = allows
        }
    }

    private static let proxyBasic = "Proxy-Authenticate: Basic realm=\"p\"\r\n"

    @Test func aProxyIsToldNoPasswordOverPlainHTTP() async throws {
        let proxy = try Origin(Self.proxyBasic, status: 407)
        let url = try RequestURL("http://a.example/")
        let (status, record) = try await load(url, in: proxied(proxy)) { _ in }
        #expect(status == 407 && proxy.heads.count == 1 && proxy.passwords == 0)
        let noted = try #require(record?.decisions.first { $0.kind == .withheld })
        #expect(noted.value == "proxy-authorization")
        #expect(noted.reason == "basic over plain http to proxy http://127.0.0.1:\(proxy.port)")
        #expect(try await load(url, in: proxied(proxy, allows: true)) { _ in }.status == 200)
        #expect(proxy.passwords == 1)
    }

    @Test func aTunnelThatWouldCostAPasswordIsNotMade() async throws {
        let proxy = try Origin(Self.proxyBasic, status: 407)
        let error = await #expect(throws: LoadError(.proxyAuthenticationRequired, "")) {
            try await load(RequestURL("https://a.example/"), in: proxied(proxy)) { _ in }
        }
        #expect(error?.message.contains("allowsBasicOverPlainHTTP") == true)
        #expect(proxy.passwords == 0)
    }
}
