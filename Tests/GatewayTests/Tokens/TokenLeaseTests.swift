import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The token paths of a gateway that loses the store which it shares with others.
@Suite(.timeLimit(.minutes(2))) struct TokenLeaseTests {
    /// Of a request for a token, and of a verification with TLS and without.
    private static func answers(
        _ fixture: ControlFixture, as identity: ClientIdentity
    ) async throws -> [ControlFixture.Answer] {
        [
            try await fixture.post(
                AuthTokenAPI.Path.issue, Array(#"{"challenge":"c1","server":"app.example"}"#.utf8), as: identity,
                fields: [.contentType: ControlAPI.MediaType.json]),
            try await fixture.get(AuthTokenAPI.Path.verify),
            try await fixture.getPlainly(AuthTokenAPI.Path.verify),
        ]
    }

    /// The answers, as soon as all have this status.
    @discardableResult
    private static func answers(
        _ fixture: ControlFixture, as identity: ClientIdentity, with status: Int
    ) async throws -> [ControlFixture.Answer] {
        let last = Lock<[ControlFixture.Answer]>([])
        let areThere = try await eventually {
            let answers = try await answers(fixture, as: identity)
            last.withLock { $0 = answers }
            return answers.allSatisfy { $0.status == status }
        }
        try #require(areThere)
        return last.withLock { $0 }
    }

    /// Other gateways may have withdrawn the instance meanwhile, or removed the user.
    @Test func onceTheLeaseIsOverThereAreNeitherTokensNorVerdictsUntilThereIsWord() async throws {
        let data = try await DataFixture(standsStill: false)
        let (store, served) = try await data.faulty()
        try await ControlFixture.with(data, servedFrom: served, lease: .seconds(2)) { fixture in
            // The last entries of the audit trail are written at the end.
            defer { store.set(nil) }
            let identity = try await fixture.activated()
            try await Self.answers(fixture, as: identity, with: 200)
            store.set(.fails)
            for answer in try await Self.answers(fixture, as: identity, with: 503) {
                #expect(answer.fields[.retryAfter] == "2")
                #expect(try answer.failure().error.name == "unreachable")
            }
            // The published keys are no word about any instance.
            #expect(try await fixture.get(AuthTokenAPI.Path.keys).status == 200)
            store.set(nil)
            try await Self.answers(fixture, as: identity, with: 200)
        }
    }

    @Test func tokensGoOnWithinTheLease() async throws {
        let data = try await DataFixture(standsStill: false)
        let (store, served) = try await data.faulty()
        try await ControlFixture.with(data, servedFrom: served) { fixture in
            defer { store.set(nil) }
            let identity = try await fixture.activated()
            try await Self.answers(fixture, as: identity, with: 200)
            store.set(.fails)
            #expect(try await Self.answers(fixture, as: identity).map(\.status) == [200, 200, 200])
        }
    }
}
