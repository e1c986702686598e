import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport

@testable import SallyportURLLoading

/// A server with TLS that shows whatever a test says, and keeps what it was asked.
final class Site: Sendable {
    struct Seen: Sendable {
        var heads: [String] = []
        var handshakes = 0
        var failedHandshakes = 0
        /// DER; the certificates that clients showed.
        var certificates: [[UInt8]] = []
    }

    typealias Answer = @Sendable (TestTLSConnection) -> Void

    let authority: TestAuthority
    let server: TestServer
    private let tls: Lock<TestTLS>
    private let answering: Lock<Answer>
    private let state: Lock<Seen>

    init(_ authority: TestAuthority, requiring clients: TestAuthority? = nil) throws {
        self.authority = authority
        let tls = try Lock(TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]), requiring: clients))
        let state = Lock(Seen())
        let answering = Lock<Answer> { $0.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        (self.tls, self.state, self.answering) = (tls, state, answering)
        server = try TestServer { connection in
            state.withLock { $0.handshakes += 1 }
            guard let client = tls.withLock({ $0 }).accept(connection) else {
                state.withLock { $0.failedHandshakes += 1 }
                return connection.awaitEnd()
            }
            if let certificate = client.peerCertificate { state.withLock { $0.certificates.append(certificate) } }
            while let head = client.readHead() {
                state.withLock { $0.heads.append(head) }
                answering.withLock { $0 }(client)
            }
        }
    }

    var seen: Seen { state.withLock { $0 } }

    func change(_ change: @Sendable (inout TestTLS) -> Void) { tls.withLock { change(&$0) } }

    /// Answers so from now on.
    func answer(_ answer: @escaping Answer) { answering.withLock { $0 = answer } }

    /// Shows a new certificate from now on.
    func renew(names: [String] = ["localhost"], validity: TestAuthority.Validity = .current) throws {
        let identity = try authority.server(names: names, addresses: [.v4(0x7f00_0001)], validity: validity)
        change { $0.identity = identity }
    }

    func request() throws -> LoadRequest { try LoadRequest(.get, server.url(scheme: "https")) }
}

/// Answers with what a test says, and keeps what was asked.
final class AskedDelegate: SessionDelegate {
    struct Question: Sendable {
        var isOfSession: Bool
        var challenge: AuthenticationChallenge
    }

    private let forSession: @Sendable (AuthenticationChallenge) async -> ChallengeDisposition
    private let forLoad: @Sendable (AuthenticationChallenge) async -> ChallengeDisposition
    private let state = Lock<[Question]>([])

    init(
        session: @escaping @Sendable (AuthenticationChallenge) async -> ChallengeDisposition = { _ in .notImplemented },
        load: @escaping @Sendable (AuthenticationChallenge) async -> ChallengeDisposition = { _ in .notImplemented }
    ) {
        forSession = session
        forLoad = load
    }

    convenience init(_ disposition: ChallengeDisposition) { self.init(session: { _ in disposition }) }

    var asked: [Question] { state.withLock { $0 } }
    var evaluations: [ServerTrustEvaluation] { asked.compactMap(\.challenge.serverTrust) }

    func session(
        _ session: SecureSession, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition {
        state.withLock { $0.append(Question(isOfSession: true, challenge: challenge)) }
        return await forSession(challenge)
    }

    func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition {
        state.withLock { $0.append(Question(isOfSession: false, challenge: challenge)) }
        return await forLoad(challenge)
    }
}

/// Decisions in memory.
final class StubDecisionStore: DecisionStore {
    private let chains = Lock<[Endpoint: ChainFingerprint]>([:])

    func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint? { chains.withLock { $0[endpoint] } }
    func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError) {
        chains.withLock { $0[endpoint] = chain }
    }
    func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool {
        chains.withLock { $0.removeValue(forKey: endpoint) != nil }
    }
}

extension SecureSession {
    /// The failure of a load; nil where it is answered.
    func failure(_ request: LoadRequest, delegate: (any SessionDelegate)? = nil) async -> LoadError? {
        do throws(LoadError) {
            _ = try await data(for: request, delegate: delegate)
            return nil
        } catch {
            return error
        }
    }
}
