import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Redirects of servers whose names the policy completes, while the policy changes.
@Suite(.timeLimit(.minutes(1))) struct ShortNameRedirectTests {
    private struct Decider: SessionDelegate {
        let decide: @Sendable (LoadRequest) -> RedirectDecision

        func session(
            _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
            response: HTTPResponse
        ) async -> RedirectDecision { decide(proposed) }
    }

    private static func table(_ domain: String) -> RoutingTable {
        RoutingTable(default: .direct, defaultDomains: [domain])
    }

    private func request(_ url: String) throws -> LoadRequest {
        var request = LoadRequest(.get, try RequestURL(url))
        request.headerFields[.authorization] = "Bearer planted"
        return request
    }

    /// When the answer comes, the policy already completes the name to that of another server.
    @Test func aRelativeTargetStaysAtTheServerThatAnswered() async throws {
        let gate = StubGate()
        gate.route(by: Self.table("corp.example"))
        let answers = Lock([StubAnswer.redirect(302, to: "/x"), .text("end")])
        let client = StubClient { _ throws(LoadError) in
            gate.route(by: Self.table("lab.example"))
            return answers.withLock { $0.removeFirst() }
        }
        let pipeline = Pipeline([RedirectStage(names: gate)], client)
        let response = try await pipeline.load(request("http://app/"))
        #expect(client.urls == ["http://app.corp.example/", "http://app.corp.example/x"])
        #expect(client.requests.allSatisfy { $0.headerFields[.authorization] == "Bearer planted" })
        #expect("\(response.url)" == "http://app.corp.example/x")
    }

    /// The policy completes the name only from the moment when the app is asked about the redirect.
    @Test func aNameThatWasNotCompletedStaysAsItIs() async throws {
        let fixture = Fixture(answers: [.redirect(302, to: "/x"), .redirect(302, to: "http://other/"), .text("end")])
        let gate = fixture.gate
        let delegate = Decider { proposed in
            gate.route(by: Self.table("corp.example"))
            return .follow(proposed)
        }
        _ = try await fixture.loading.session.bytes(for: request("http://app/"), delegate: delegate)
        #expect(fixture.client.urls == ["http://app/", "http://app/x", "http://other.corp.example/"])
        #expect(
            fixture.client.requests.map { $0.headerFields[.authorization] }
                == ["Bearer planted", "Bearer planted", nil])
    }
}
