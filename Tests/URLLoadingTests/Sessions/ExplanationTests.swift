import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// What a session says it would do with a request.
struct ExplanationTests {
    @Test func directRouteIsExplainedWithoutAConnection() async throws {
        let fixture = Fixture()
        let found = await fixture.loading.session.explain(try .get("https://app.example/report?secret=1"))
        #expect(found.handler == "http" && found.refusal == nil && found.cluster == nil)
        #expect(found.decisions.map(\.value) == ["direct"] && found.decisions.first?.reason == "default")
        #expect(found.tlsVersions == ["TLS1.2", "TLS1.3"])
        #expect(found.url == "https://app.example/report" && fixture.client.requests.isEmpty)
    }

    @Test func settingsLimitTheVersionsThatAreOffered() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        configuration.minimumTLSVersion = .tls13
        let session = fixture.loading.makeSession(configuration)
        #expect(await session.explain(try .get("https://app.example/")).tlsVersions == ["TLS1.3"])
        #expect(await session.explain(try .get("http://app.example/")).tlsVersions.isEmpty)
    }

    @Test func relayedRouteNamesItsClusterAndTheFloorOfThePolicy() async throws {
        let fixture = Fixture()
        let table = RoutingTable(default: .relay(cluster: "main"))
        fixture.gate.route(by: table, relay: try RelayAccess.stub(), floor: .tls13)
        let found = await fixture.loading.session.explain(try .get("https://app.example/"))
        #expect(found.cluster == "main" && found.tlsVersions == ["TLS1.3"] && found.refusal == nil)
        fixture.gate.route(by: RoutingTable(default: .deny))
        let denied = await fixture.loading.session.explain(try .get("https://app.example/"))
        #expect(denied.refusal?.code == "refusedByPolicy" && denied.decisions.isEmpty)
    }

    @Test func refusalIsTheOneThatTheLoadEndsWith() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        let request = try LoadRequest.get("https://app.example/")
        let session = fixture.loading.session
        #expect(await session.explain(request).refusal?.code == "notAuthorized")
        fixture.gate.withdraw(.blocked)
        let found = await session.explain(request)
        let failure = await session.failure(request)
        #expect(found.refusal?.code == "withdrawn" && failure?.code == .withdrawn)
        #expect(found.description.contains("refused: withdrawn"))
    }

    @Test func systemSessionNamesNoRule() async throws {
        let session = SecureSession(SessionConfiguration(), of: LoadingEngine(client: StubClient([.text("")])))
        let found = await session.explain(try .get("https://app.example/"))
        #expect(
            found.decisions.map(\.value) == ["direct"] && found.decisions.first?.reason == nil && found.refusal == nil)
    }

    @Test func nothingTakesAnUnknownScheme() async throws {
        let found = await Fixture().loading.session.explain(try .get("gopher://app.example/"))
        #expect(found.handler == nil && found.refusal?.code == "unsupportedScheme")
    }
}
