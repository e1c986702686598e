import HTTPTypes
import Logging
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// The order in which methods are tried. No I/O.
@Suite(.timeLimit(.minutes(1)))
struct MethodOrderTests {
    /// A scheme that answers nothing, for those that need a realm or a connection.
    private struct Named: AuthenticationScheme {
        let method: AuthenticationMethod
        func takes(_ offered: OfferedScheme) -> Bool { true }
    }

    private static let offers = [
        "Basic realm=\"b\"", "NTLM", "Digest realm=\"md5\", nonce=\"n\"", "Negotiate",
        "Digest realm=\"sha\", nonce=\"n\", algorithm=SHA-256",
        "Digest realm=\"sha512\", nonce=\"n\", algorithm=SHA-512-256",
    ]

    /// The realms and methods about which an app that rejects each one is asked.
    private func asked(_ url: String, strongest: Bool, _ offers: [String] = offers) async throws -> [String] {
        let server = StubServer()
        server.offers = offers
        let app = StubResponder([.rejectProtectionSpace])
        var context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: .instance, responder: app)
        context.methods = MethodPreferences(prefersStrongest: strongest, allowsBasicOverPlainHTTP: true)
        let stage = AuthenticationStage(
            credentials: CredentialStorage(),
            schemes: [BasicScheme(), DigestScheme(), NTLMScheme(), Named(method: .negotiate)])
        _ = try await LoadChain([stage, server]).load(.get(url), in: context)
        return app.challenges.map { $0.protectionSpace.realm ?? $0.protectionSpace.method.name }
    }

    @Test func byDefaultTheServersOrderCounts() async throws {
        for url in ["https://a.example/", "http://a.example/"] {
            #expect(
                try await asked(url, strongest: false) == ["b", "ntlm", "md5", "negotiate", "sha", "sha512"])
        }
    }

    @Test func theStrongestGoesFirstWhereTheSessionWantsThat() async throws {
        #expect(
            try await asked("https://a.example/", strongest: true)
                == ["negotiate", "ntlm", "sha", "sha512", "md5", "b"])
    }

    @Test func withoutTLSDigestIsBoundToMoreThanNTLM() async throws {
        #expect(
            try await asked("http://a.example/", strongest: true)
                == ["negotiate", "sha", "sha512", "md5", "ntlm", "b"])
    }

    @Test func equalsStayInTheServersOrder() async throws {
        let offers = ["Basic realm=\"2\"", "Basic realm=\"1\"", "Basic realm=\"3\""]
        #expect(try await asked("https://a.example/", strongest: true, offers) == ["2", "1", "3"])
    }
}
