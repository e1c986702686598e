import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing

@testable import SallyportURLLoading

/// What the app makes of a redirect.
@Suite(.timeLimit(.minutes(1))) struct RedirectDecisionTests {
    private struct Decider: SessionDelegate {
        let decide: @Sendable (LoadRequest, LoadRequest, HTTPResponse) -> RedirectDecision

        func session(
            _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
            response: HTTPResponse
        ) async -> RedirectDecision { decide(request, proposed, response) }
    }

    private struct Silent: SessionDelegate {}

    private let redirected: [StubAnswer] = [.redirect(302, to: "http://b.example/next"), .text("end")]

    private func load(
        _ request: LoadRequest, _ answers: [StubAnswer], _ delegate: some SessionDelegate
    ) async throws -> (response: LoadResponse, client: StubClient) {
        let fixture = Fixture(answers: answers)
        return (try await fixture.loading.session.bytes(for: request, delegate: delegate), fixture.client)
    }

    @Test func theAppSeesEachHopAndTheProposedRequest() async throws {
        let seen = Lock<[String]>([])
        let delegate = Decider { request, proposed, response in
            seen.withLock { $0.append("\(request.url) \(response.status.code) \(proposed.method) \(proposed.url)") }
            return .follow(proposed)
        }
        let request = LoadRequest(.post, try RequestURL("http://a.example/x#part"), body: .text("body"))
        let (response, client) = try await load(
            request, [.redirect(307, to: "/y"), .redirect(303, to: "/z"), .text("end")], delegate)
        #expect(response.head.status == .ok && client.requests.count == 3)
        #expect(
            seen.withLock { $0 } == [
                "http://a.example/x#part 307 POST http://a.example/y#part",
                "http://a.example/y#part 303 GET http://a.example/z#part",
            ])
    }

    @Test func aDelegateWithoutTheMethodCountsAsNone() async throws {
        let (response, client) = try await load(.get("http://a.example/"), redirected, Silent())
        #expect(response.head.status == .ok && client.requests.count == 2)
    }

    @Test func theSessionsDelegateIsAskedWhereTheLoadsHasNoMethod() async throws {
        let fixture = Fixture(answers: redirected)
        let session = fixture.loading.makeSession(delegate: Decider { _, _, _ in .refuse })
        await #expect(throws: LoadError(.redirectRefused, "")) {
            _ = try await session.bytes(for: .get("http://a.example/"), delegate: Silent())
        }
        let own = Decider { _, proposed, _ in .follow(proposed) }
        _ = try await session.bytes(for: .get("http://a.example/"), delegate: own)
    }

    @Test func stoppingMakesTheRedirectTheAnswer() async throws {
        var answer = redirected[0]
        answer.chunks = [Array("moved".utf8)]
        answer.fields[.contentLength] = "5"
        let (response, client) = try await load(.get("http://a.example/"), [answer], Decider { _, _, _ in .stop })
        #expect(response.head.status == .found && client.requests.count == 1)
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("moved".utf8))
        #expect(response.facts.hops.count == 1)
    }

    @Test func refusingIsATypedErrorAndSendsNothingMore() async throws {
        let fixture = Fixture(answers: redirected)
        await #expect(throws: LoadError(.redirectRefused, "")) {
            _ = try await fixture.loading.session.bytes(
                for: .get("http://a.example/"), delegate: Decider { _, _, _ in .refuse })
        }
        #expect(fixture.client.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func aSessionThatEndsWhileTheAppDecidesSendsNothingMore(byInvalidation: Bool) async throws {
        let fixture = Fixture(answers: redirected)
        let session = fixture.loading.makeSession()
        let delegate = Decider { [loading = fixture.loading] _, proposed, _ in
            if byInvalidation { session.invalidate() } else { loading.disable() }
            return .follow(proposed)
        }
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            _ = try await session.bytes(for: .get("http://a.example/"), delegate: delegate)
        }
        #expect(fixture.client.requests.count == 1)
    }

    @Test func theAppMayChangeTheRequest() async throws {
        let delegate = Decider { _, proposed, _ in
            var changed = proposed
            changed.headerFields[.accept] = "text/plain"
            changed.url = (try? RequestURL("http://b.example/chosen")) ?? proposed.url
            return .follow(changed)
        }
        let (response, client) = try await load(.get("http://a.example/"), redirected, delegate)
        #expect(client.urls.last == "http://b.example/chosen" && response.url.path == "/chosen")
        #expect(client.requests.last?.headerFields[.accept] == "text/plain")
    }

    // MARK: Credentials

    private static let secrets: HTTPFields = [
        .authorization: "Bearer planted", .cookie: "planted=1", .proxyAuthorization: "Basic planted",
        .custom("X-Api-Key"): "planted", .accept: "*/*",
    ]

    private func secretRequest() throws -> LoadRequest {
        var request = try LoadRequest.get("http://a.example/", headerFields: Self.secrets)
        request.options.credential = Credential(user: "ann", password: Redacted("planted"))
        return request
    }

    /// The redirect stays within the origin, and the app leads it away without a thought of the fields.
    @Test func anAppThatLeadsToAnotherOriginTakesNoCredentialAlong() async throws {
        let other = try RequestURL("http://b.example/")
        let delegate = Decider { _, proposed, _ in
            var changed = proposed
            changed.url = other
            changed.options.fieldScopes = nil
            return .follow(changed)
        }
        let (_, client) = try await load(try secretRequest(), [.redirect(302, to: "/x"), .text("end")], delegate)
        let fields = try #require(client.requests.last).headerFields
        #expect(client.urls.last == "http://b.example/")
        #expect(fields.allSatisfy { !$0.value.contains("planted") })
        #expect(fields[.accept] == "*/*")
        let hop = try RedirectRules().hop(
            LoadRequest(.get, other, options: secretRequest().options), chosenOver: .init(request: secretRequest()),
            after: secretRequest())
        #expect(hop.request.options.credential == nil)
    }

    @Test func theProxysCredentialStaysWithTheOrigin() throws {
        var request = try LoadRequest.get("http://a.example/")
        request.options.proxyCredential = Credential(user: "ann", password: Redacted("planted"))
        let rules = RedirectRules()
        let near = try rules.hop(from: request, to: RequestURL("http://a.example/x"), status: .found)
        #expect(near.request.options.proxyCredential == request.options.proxyCredential)
        for target in ["http://b.example/", "https://a.example/"] {
            let far = try rules.hop(from: request, to: RequestURL(target), status: .found)
            #expect(far.request.options.proxyCredential == nil)
            var chosen = request
            chosen.url = try RequestURL(target)
            #expect(try rules.hop(chosen, chosenOver: near, after: request).request.options.proxyCredential == nil)
        }
    }

    /// The redirect leads to another origin, and the app answers with the request that was redirected, led there too.
    @Test func anAppThatLeadsTheOldRequestToTheNewOriginTakesNoCredentialAlong() async throws {
        let delegate = Decider { request, proposed, _ in
            var old = request
            old.url = proposed.url
            return .follow(old)
        }
        let (_, client) = try await load(try secretRequest(), redirected, delegate)
        let next = try #require(client.requests.last)
        #expect(next.url.hostField == "b.example" && next.headerFields[.accept] == "*/*")
        #expect(next.headerFields.allSatisfy { !$0.value.contains("planted") })
        let (rules, request) = (RedirectRules(), try secretRequest())
        let proposed = try rules.hop(from: request, to: next.url, status: .found)
        var old = request
        old.url = next.url
        #expect(try rules.hop(old, chosenOver: proposed, after: request).request.options.credential == nil)
    }

    /// The field's scope names the host: the app wants it there.
    @Test func aFieldWhoseScopeReachesTheNewOriginIsTakenAlong() async throws {
        let scope = try FieldScope.hosts(["b.example"])
        let delegate = Decider { request, proposed, _ in
            var old = request
            old.url = proposed.url
            old.options.fieldScopes = FieldScopes(others: scope)
            return .follow(old)
        }
        let (_, client) = try await load(try secretRequest(), redirected, delegate)
        let fields = try #require(client.requests.last).headerFields
        #expect(fields[.custom("X-Api-Key")] == "planted")
        #expect(fields[.authorization] == nil && fields[.cookie] == nil, "A credential has no scope but its origin.")
    }

    @Test func fieldsThatTheAppSetsOnPurposeAreSent() async throws {
        let delegate = Decider { _, proposed, _ in
            var changed = proposed
            changed.headerFields[.authorization] = "Bearer for-b"
            return .follow(changed)
        }
        let (_, client) = try await load(try secretRequest(), redirected, delegate)
        let fields = try #require(client.requests.last).headerFields
        #expect(fields[.authorization] == "Bearer for-b" && fields[.cookie] == nil)
    }

    @Test func fieldsForOneOriginAreNotSentToTheNext() async throws {
        let delegate = Decider { request, proposed, _ in
            guard request.url.path == "/" else { return .follow(proposed) }
            var changed = proposed
            changed.headerFields[.authorization] = "Bearer for-b"
            return .follow(changed)
        }
        let (_, client) = try await load(
            .get("http://a.example/"),
            [.redirect(302, to: "http://b.example/b"), .redirect(302, to: "http://c.example/c"), .text("end")], delegate
        )
        #expect(client.requests.map { $0.headerFields[.authorization] } == [nil, "Bearer for-b", nil])
    }

    @Test(arguments: ["file:///etc/passwd", "data:,x"]) func theAppLeadsToHTTPOnly(_ target: String) async throws {
        let url = try RequestURL(target)
        let delegate = Decider { _, proposed, _ in
            var changed = proposed
            changed.url = url
            return .follow(changed)
        }
        await #expect(throws: LoadError(.redirectRefused, "")) {
            _ = try await load(.get("http://a.example/"), redirected, delegate)
        }
    }

    // MARK: Time and circles

    private struct Sleeper: SessionDelegate {
        func session(
            _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
            response: HTTPResponse
        ) async -> RedirectDecision {
            try? await Task.sleep(for: .seconds(3600))
            return .follow(proposed)
        }
    }

    @Test func theTimeForTheLoadEndsTheWaitingForTheApp() async throws {
        var request = try LoadRequest.get("http://a.example/")
        request.options.resourceTimeout = .milliseconds(100)
        await #expect(throws: LoadError(.resourceTimeout, "")) { _ = try await load(request, redirected, Sleeper()) }
    }

    @Test func aCircleEndsTheLoadBeforeTheLimit() async throws {
        let pipeline = Pipeline(
            [RedirectStage()], [.redirect(302, to: "/b"), .redirect(302, to: "/a#other"), .redirect(302, to: "/b")])
        await #expect(throws: LoadError(.tooManyRedirects, "")) { try await pipeline.load(.get("http://a.example/a")) }
        #expect(pipeline.client.requests.count == 2)
    }

    @Test func aCookieSetOnTheWayIsNoCircle() async throws {
        var answer = StubAnswer.redirect(302, to: "/a")
        answer.fields[.setCookie] = "seen=1"
        let pipeline = Pipeline([RedirectStage()], [answer, .text("end")])
        #expect(try await pipeline.load(.get("http://a.example/a")).head.status == .ok)
    }

    @Test func anotherMethodOnTheSameURLIsNoCircle() async throws {
        let pipeline = Pipeline([RedirectStage()], [.redirect(303, to: "/a"), .text("end")])
        let request = LoadRequest(.post, try RequestURL("http://a.example/a"), body: .text("x"))
        #expect(try await pipeline.load(request).head.status == .ok)
    }
}
