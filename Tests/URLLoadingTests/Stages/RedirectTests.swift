import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing

@testable import SallyportURLLoading

@Suite(.timeLimit(.minutes(1))) struct RedirectTests {
    private func follow(
        _ request: LoadRequest, _ answers: [StubAnswer], limit: Int = 20
    ) async throws(LoadError) -> (response: LoadResponse, client: StubClient) {
        let pipeline = Pipeline([RedirectStage(limit: limit)], answers)
        return (try await pipeline.load(request), pipeline.client)
    }

    @Test func relativeTargetsResolveAndTheLastHopAnswers() async throws {
        let (response, client) = try await follow(
            .get("http://a.example/b/c?q#part"),
            [
                .redirect(302, to: "../d"), .redirect(301, to: "?x"), .redirect(308, to: "//b.example:81/e"),
                .text("end"),
            ])
        #expect(
            client.urls == [
                "http://a.example/b/c?q#part", "http://a.example/d#part", "http://a.example/d?x#part",
                "http://b.example:81/e#part",
            ])
        #expect(response.url.description == "http://b.example:81/e#part")
        #expect(response.facts.hops.map(\.url.path) == ["/b/c", "/d", "/d", "/e"])
        #expect(try await response.body.collect(upTo: .bytes(3)) == Array("end".utf8))
    }

    @Test(arguments: [
        (301, HTTPRequest.Method.post, HTTPRequest.Method.get), (302, .post, .get), (303, .post, .get),
        (303, .put, .get), (303, .head, .head), (303, .delete, .get), (301, .put, .put), (302, .delete, .delete),
        (307, .post, .post), (308, .post, .post), (308, .put, .put), (301, .head, .head), (302, .get, .get),
    ])
    func methodsAreRewritten(_ status: Int, _ method: HTTPRequest.Method, _ expected: HTTPRequest.Method) async throws {
        let ofBody: HTTPFields = [
            .contentType: "text/plain", .contentLanguage: "en", .contentDisposition: "attachment",
            .custom("Content-Digest"): "sha-256=:AA==:", .custom("Repr-Digest"): "sha-256=:AA==:",
        ]
        var request = LoadRequest(
            method, try RequestURL("http://a.example/"), headerFields: ofBody, body: .text("body"))
        request.headerFields[.accept] = "*/*"
        let (_, client) = try await follow(request, [.redirect(status, to: "/x"), .text("")])
        let next = try #require(client.requests.last)
        #expect(next.method == expected)
        #expect((next.body != nil) == (expected == method))
        for field in ofBody { #expect((next.headerFields[field.name] != nil) == (expected == method), "\(field.name)") }
        #expect(next.headerFields[.accept] == "*/*")
    }

    @Test(arguments: [300, 304, 305, 306, 200, 404]) func otherStatusesAreNoRedirects(_ status: Int) async throws {
        let (response, client) = try await follow(.get("http://a.example/"), [.redirect(status, to: "/x"), .text("")])
        #expect(response.head.status.code == status)
        #expect(client.requests.count == 1)
    }

    @Test func aRedirectWithoutATargetIsTheAnswer() async throws {
        let (response, _) = try await follow(.get("http://a.example/"), [StubAnswer(status: .found), .text("")])
        #expect(response.head.status == .found)
    }

    // MARK: Origins

    private static let secrets: HTTPFields = [
        .authorization: "Bearer planted", .cookie: "planted=1", .proxyAuthorization: "Basic planted",
        .custom("X-Api-Key"): "planted", .custom("X-Good-GD-AuthToken"): "planted", .custom("DPoP"): "planted",
        .accept: "*/*",
    ]

    @Test(arguments: [
        "http://b.example/", "https://a.example/", "http://a.example:81/", "http://sub.a.example/", "http://127.0.0.1/",
    ])
    func credentialsNeverCrossAnOrigin(_ target: String) async throws {
        let request = try LoadRequest.get("http://a.example/", headerFields: Self.secrets)
        let (_, client) = try await follow(request, [.redirect(302, to: target), .text("")])
        let fields = try #require(client.requests.last).headerFields
        #expect(fields.allSatisfy { !$0.value.contains("planted") })
        #expect(fields[.accept] == "*/*")
    }

    @Test(arguments: ["/x", "http://a.example:80/x", "http://A.EXAMPLE./x", "http://%61.example/x"])
    func credentialsStayWithinTheOrigin(_ target: String) async throws {
        let request = try LoadRequest.get("http://a.example/", headerFields: Self.secrets)
        let (_, client) = try await follow(request, [.redirect(302, to: target), .text("")])
        #expect(client.requests.last?.headerFields == Self.secrets)
    }

    @Test func credentialsDoNotComeBackFromAnotherOrigin() async throws {
        let request = try LoadRequest.get("http://a.example/", headerFields: Self.secrets)
        let (_, client) = try await follow(
            request,
            [.redirect(302, to: "http://b.example/"), .redirect(302, to: "http://a.example/back"), .text("")])
        #expect(client.requests.last?.headerFields[.authorization] == nil)
        #expect(client.requests.last?.headerFields[.cookie] == nil)
    }

    // MARK: Refusals

    @Test(arguments: [
        "file:///etc/passwd", "ftp://a.example/", "data:text/plain,x", "http+unix://%2Frun/x", "javascript:alert(1)",
        "http://u:p@a.example/", "http://", "http://a..b/", "http://a b/", "http://256.0.0.1/",
    ])
    func otherTargetsAreRefused(_ target: String) async throws {
        let pipeline = Pipeline([RedirectStage()], [.redirect(302, to: target), .text("")])
        await #expect(throws: LoadError(.redirectRefused, "")) { try await pipeline.load(.get("http://a.example/")) }
        #expect(pipeline.client.requests.count == 1)
    }

    @Test func aRefusalDoesNotShowItsTarget() async throws {
        let pipeline = Pipeline([RedirectStage()], [.redirect(302, to: "file:///planted?secret")])
        let error = await #expect(throws: LoadError.self) { try await pipeline.load(.get("http://a.example/")) }
        #expect(!(error?.debugDescription.contains("planted") ?? true))
    }

    @Test func severalTargetsAreRefused() async throws {
        var answer = StubAnswer(status: .found)
        answer.fields[values: .location] = ["/x", "/y"]
        let pipeline = Pipeline([RedirectStage()], [answer])
        await #expect(throws: LoadError(.redirectRefused, "")) { try await pipeline.load(.get("http://a.example/")) }
        answer.fields[values: .location] = ["/x", "/x"]
        let twins = Pipeline([RedirectStage()], [answer, .text("")])
        #expect(try await twins.load(.get("http://a.example/")).head.status == .ok)
    }

    @Test func twentyRedirectsAreFollowedAndNotOneMore() async throws {
        let twenty = (1...20).map { StubAnswer.redirect(302, to: "/\($0)") }
        let (response, client) = try await follow(.get("http://a.example/"), twenty + [.text("")])
        #expect(response.head.status == .ok && client.requests.count == 21)
        let pipeline = Pipeline([RedirectStage()], twenty + [.redirect(302, to: "/21"), .text("")])
        await #expect(throws: LoadError(.tooManyRedirects, "")) { try await pipeline.load(.get("http://a.example/")) }
        #expect(pipeline.client.requests.count == 21)
    }

    @Test func aRequestCanTakeTheRedirectAsItsAnswer() async throws {
        var request = try LoadRequest.get("http://a.example/")
        request.options.followsRedirects = false
        let (response, client) = try await follow(request, [.redirect(302, to: "/x"), .text("")])
        #expect(response.head.status == .found && client.requests.count == 1)
    }

    // MARK: Bodies

    @Test(arguments: [307, 308]) func aBodyThatCanBeHadAgainIsSentAgain(_ status: Int) async throws {
        let request = LoadRequest(.post, try RequestURL("http://a.example/"), body: .restartable { _ in })
        let (_, client) = try await follow(request, [.redirect(status, to: "/x"), .text("")])
        #expect(client.requests.last?.body?.isReplayable == true)
    }

    @Test(arguments: [307, 308]) func aBodyThatCannotEndsTheLoad(_ status: Int) async throws {
        let request = LoadRequest(.post, try RequestURL("http://a.example/"), body: .once { _ in })
        let pipeline = Pipeline([RedirectStage()], [.redirect(status, to: "/x"), .text("")])
        await #expect(throws: LoadError(.bodyNotReplayable, "")) { try await pipeline.load(request) }
    }

    @Test func aBodyThatIsNotNeededAgainIsNoHindrance() async throws {
        let request = LoadRequest(.post, try RequestURL("http://a.example/"), body: .once { _ in })
        let (response, _) = try await follow(request, [.redirect(303, to: "/x"), .text("")])
        #expect(response.head.status == .ok)
    }

    @Test func aShortBodyIsReadAndALongOneIsNot() async throws {
        var short = StubAnswer.redirect(302, to: "/x")
        short.chunks = [[1, 2]]
        short.fields[.contentLength] = "2"
        let (_, client) = try await follow(.get("http://a.example/"), [short, .text("")])
        #expect(client.discards == 0)
        var long = StubAnswer.redirect(302, to: "/x")
        long.chunks = [[1]]
        long.fields[.contentLength] = "1000000"
        long.staysOpen = true
        let (_, other) = try await follow(.get("http://a.example/"), [long, .text("")])
        #expect(other.discards == 1)
    }

    @Test func randomLocationsEndInAnAnswerOrATypedError() async throws {
        var generator = SeededGenerator(seed: 22)
        let pieces = [
            "http:", "https:", "//", "a.example", "/", "..", "?", "#", "%", "@", ":", "[", "\u{e4}", "x", "0",
        ]
        for _ in 0..<10_000 {
            let location = (0..<Int.random(in: 0...8, using: &generator))
                .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let pipeline = Pipeline([RedirectStage()], [.redirect(302, to: location), .text("")])
            do throws(LoadError) {
                _ = try await pipeline.load(LoadRequest(.get, Self.base))
            } catch {
                // The location may be the request's own.
                #expect([.redirectRefused, .tooManyRedirects, .insecureRedirect].contains(error.code))
            }
        }
    }

    private static let base: RequestURL = {
        guard let url = try? RequestURL("https://base.example/a/b") else { preconditionFailure("A valid URL.") }
        return url
    }()
}
