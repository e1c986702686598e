import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportFoundationBridge
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// What the secure session finishes before a native task hears of it.
@Suite(.timeLimit(.minutes(1))) struct InsideTests {
    private struct Answers: SessionDelegate {
        let disposition: ChallengeDisposition

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition { disposition }
    }

    private func native(
        answering disposition: ChallengeDisposition, _ collector: Collector? = nil
    ) -> URLSession {
        let stage = AuthenticationStage(credentials: CredentialStorage())
        let loading = URLLoadingSystem(gate: TenantGate(), stages: { _ in [stage] })
        var settings = SessionConfiguration()
        settings.allowsBasicOverPlainHTTP = true
        let secure = loading.makeSession(settings, delegate: Answers(disposition: disposition))
        return URLSession(
            configuration: secure.foundationConfiguration(), delegate: collector, delegateQueue: nil)
    }

    private func server() throws -> RecordingServer {
        try RecordingServer { head in
            head.lowercased().contains("authorization: basic yw5uonnly3jlda==")
                ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                : "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 2\r\n\r\nno"
        }
    }

    @Test func challengesAreAnsweredByTheSecureSession() async throws {
        let (server, collector) = (try server(), Collector())
        let session = native(answering: .use(Credential(user: "ann", password: Redacted("secret"))), collector)
        var request = try URLRequest(url: server.url())
        request.httpMethod = "PUT"
        request.httpBody = Data("body".utf8)
        session.dataTask(with: request).resume()
        let seen = try await collector.end()
        #expect(seen.response.map(status) == 200 && collector.body == Data("ok".utf8))
        #expect(seen.challenges == 0)
        #expect(server.seen.count == 2 && server.seen.allSatisfy { $0.hasSuffix("body") })
    }

    @Test func aChallengeThatIsCancelledFailsTheTask() async throws {
        let server = try server()
        let url = try server.url()
        let error = try await failure { _ = try await native(answering: .cancel).data(from: url) }
        #expect(error.code == .userCancelledAuthentication && error.loadError?.code == .authenticationCancelled)
    }

    @Test func credentialsNeverCrossAnOrigin() async throws {
        let target = try RecordingServer(body: "ok")
        let away = try target.url("/end").absoluteString
        let origin = try RecordingServer { _ in
            "HTTP/1.1 307 T\r\nLocation: \(away)\r\nContent-Length: 0\r\n\r\n"
        }
        var request = try URLRequest(url: origin.url())
        request.setValue("Bearer planted", forHTTPHeaderField: "Authorization")
        request.setValue("planted=1", forHTTPHeaderField: "Cookie")
        let (_, response) = try await Tenant().native().data(for: request)
        #expect(response.url?.absoluteString == away)
        #expect(origin.seen.first?.contains("Bearer planted") == true)
        #expect(target.seen.count == 1 && !target.seen[0].contains("planted"))
    }
}
