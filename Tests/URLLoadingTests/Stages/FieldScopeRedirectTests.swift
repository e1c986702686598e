import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// What redirects carry, by the scopes of session and request, and what the record says of the other fields.
@Suite(.timeLimit(.minutes(1))) struct FieldScopeRedirectTests {
    private static let key = HTTPField.Name.custom("X-Api-Key")

    /// Hosts of one site end in the same two labels.
    private struct TwoLabels: SiteRules {
        func isSameSite(_ one: Host, _ other: Host) -> Bool {
            one.bareText.split(separator: ".").suffix(2) == other.bareText.split(separator: ".").suffix(2)
        }
    }

    /// Which requests of a chain of redirects carried the key.
    private func carried(
        _ targets: String..., status: Int = 307, method: HTTPRequest.Method = .get, scopes: FieldScopes = FieldScopes(),
        own: FieldScopes? = nil
    ) async throws -> [Bool] {
        let pipeline = Pipeline(
            [RedirectStage(scopes: scopes, sites: TwoLabels())],
            targets.map { .redirect(status, to: $0) } + [.text("end")])
        var request = LoadRequest(
            method, try RequestURL("https://a.corp.example/"), headerFields: [Self.key: "planted", .accept: "a/b"])
        if method == .post { request.body = .text("body") }
        request.options.fieldScopes = own
        #expect(try await pipeline.load(request).head.status == .ok)
        #expect(pipeline.client.requests.allSatisfy { $0.headerFields[.accept] == "a/b" })
        return pipeline.client.requests.map { $0.headerFields[Self.key] == "planted" }
    }

    private func scopes(_ scope: FieldScope) throws -> FieldScopes {
        var scopes = FieldScopes()
        try scopes.set(scope, for: Self.key)
        return scopes
    }

    @Test func byDefaultAFieldStaysWithItsOrigin() async throws {
        #expect(try await carried("/x", "https://b.corp.example/", "/y") == [true, true, false, false])
    }

    @Test func droppedFieldsDoNotReturn() async throws {
        let scopes = try scopes(.site)
        #expect(
            try await carried("https://b.corp.example/", "https://c.test/", "https://a.corp.example/x", scopes: scopes)
                == [true, true, false, false])
    }

    @Test func theRequestsScopesStandInPlaceOfTheSessions() async throws {
        let target = "https://b.corp.example/"
        #expect(try await carried(target, scopes: scopes(.site)) == [true, true])
        #expect(try await carried(target, scopes: scopes(.site), own: FieldScopes()) == [true, false])
        #expect(try await carried(target, own: scopes(.site)) == [true, true])
        #expect(try await carried(target, own: FieldScopes(others: .site)) == [true, true])
    }

    @Test func namedHostsAreReachedOnTheirPorts() async throws {
        let scopes = try scopes(.hosts(["b.test:8443", "c.test"]))
        #expect(try await carried("https://b.test:8443/", "https://c.test:99/", scopes: scopes) == [true, true, true])
        #expect(try await carried("https://b.test/", "https://c.test/", scopes: scopes) == [true, false, false])
        #expect(
            try await carried("https://c.test/", "https://a.corp.example/x", scopes: scopes) == [true, true, false])
    }

    @Test func aPostThatBecomesAGetKeepsTheRule() async throws {
        let scopes = try scopes(.site)
        #expect(
            try await carried("https://b.corp.example/", status: 303, method: .post, scopes: scopes) == [true, true])
        #expect(try await carried("https://b.test/", status: 303, method: .post, scopes: scopes) == [true, false])
    }

    @Test func aBodyThatIsSentAgainKeepsWhatDescribesIt() async throws {
        let pipeline = Pipeline([RedirectStage()], [.redirect(308, to: "https://b.test/"), .text("end")])
        let request = LoadRequest(
            .put, try RequestURL("https://a.corp.example/"), headerFields: [.contentType: "a/b", Self.key: "planted"],
            body: .text("body"))
        _ = try await pipeline.load(request)
        let next = try #require(pipeline.client.requests.last)
        #expect(next.body != nil && next.headerFields[.contentType] == "a/b" && next.headerFields[Self.key] == nil)
    }

    @Test func theSessionsFieldsHaveTheSameScopes() async throws {
        for (scope, isCarried) in [(FieldScope.origin, false), (try .hosts(["b.example"]), true)] {
            let fixture = Fixture(answers: [.redirect(302, to: "http://b.example/"), .text("end")])
            var configuration = SessionConfiguration()
            configuration.additionalHeaders = [Self.key: "planted", .userAgent: "report/1"]
            try configuration.fieldScopes.set(scope, for: Self.key)
            let session = fixture.loading.makeSession(configuration)
            _ = try await session.bytes(for: .get("http://a.example/", headerFields: [.custom("X-Own"): "planted"]))
            let fields = try #require(fixture.client.requests.last).headerFields
            #expect((fields[Self.key] == "planted") == isCarried)
            #expect(fields[.userAgent] == "report/1" && fields[.custom("X-Own")] == nil)
        }
    }

    // MARK: The record

    private struct Decider: SessionDelegate {
        let decide: @Sendable (LoadRequest) -> LoadRequest

        func session(
            _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
            response: HTTPResponse
        ) async -> RedirectDecision { .follow(decide(proposed)) }
    }

    private func record(
        _ answers: [StubAnswer], delegate: (any SessionDelegate)? = nil
    ) async throws -> LoadRecord {
        let fixture = Fixture(answers: answers)
        var request = try LoadRequest.get(
            "http://a.example/?planted",
            headerFields: [
                .authorization: "planted", Self.key: "planted", .custom("x-twice"): "planted", .accept: "a/b",
            ])
        request.headerFields.append(HTTPField(name: .custom("X-Twice"), value: "planted again"))
        request.options.isRecorded = true
        let response = try await fixture.loading.session.bytes(for: request, delegate: delegate)
        return try #require(response.record)
    }

    @Test func theRecordNamesWhatEachHopDidNotCarryAndNoValue() async throws {
        let record = try await record([
            .redirect(302, to: "/x"), .redirect(302, to: "http://b.example/"), .redirect(302, to: "http://c.example/"),
            .text("end"),
        ])
        let noted = record.decisions.filter { $0.kind != .route }.map { "\($0.kind) \($0.value) \($0.reason ?? "")" }
        #expect(
            noted == [
                "redirect http://a.example/x 302", "redirect http://b.example/ 302",
                "withheld authorization redirect to http://b.example:80",
                "withheld x-api-key redirect to http://b.example:80",
                "withheld x-twice redirect to http://b.example:80", "redirect http://c.example/ 302",
            ])
        #expect(!record.json.contains("planted"))
    }

    @Test func redirectsChangedByTheAppAreRecordedToo() async throws {
        let other = try RequestURL("http://b.example/")
        let delegate = Decider { proposed in
            var chosen = proposed
            chosen.url = other
            chosen.headerFields[Self.key] = "on purpose"
            return chosen
        }
        let record = try await record([.redirect(302, to: "/x"), .text("end")], delegate: delegate)
        #expect(record.decisions.filter { $0.kind == .withheld }.map(\.value) == ["authorization", "x-twice"])
        #expect(!record.json.contains("on purpose"))
    }

    @Test func fieldsThatTheAppSetsAgainAreNotWithheld() async throws {
        let delegate = Decider { proposed in
            var chosen = proposed
            chosen.headerFields[Self.key] = "for b"
            return chosen
        }
        let record = try await record([.redirect(302, to: "http://b.example/"), .text("end")], delegate: delegate)
        #expect(record.decisions.filter { $0.kind == .withheld }.map(\.value) == ["authorization", "x-twice"])
    }
}
