import Foundation
import HTTPTypes
import SallyportWire
import Testing

@testable import SallyportGateway

/// What a gateway answers while its database does not serve it.
@Suite(.timeLimit(.minutes(1))) struct StoreFailureTests {
    private func with(_ body: @Sendable (ControlFixture, FaultyStore) async throws -> Void) async throws {
        let data = try await DataFixture(isFaulty: true)
        let store = try #require(await data.data.store as? FaultyStore)
        try await ControlFixture.with(data) { try await body($0, store) }
    }

    @Test func anAppThatIsActivatedIsAskedToComeAgain() async throws {
        try await with { fixture, store in
            let link = try await fixture.data.link()
            store.set(.fails)
            let answer = try await fixture.enroll(link)
            #expect(answer.status == 503 && answer.fields[.retryAfter] == "2")
            #expect(try answer.failure().error.name == "store")
            #expect(try !answer.failure().error.message.contains("on purpose"), "what it says is for the log")
            store.set(nil)
            #expect(try await fixture.enroll(link).status == 200)
        }
    }

    @Test func aRelayThatRenewsIsAskedToComeAgain() async throws {
        try await with { fixture, store in
            let relay = try await EnrolledRelay.enrolled(at: fixture.data.data)
            let request = try Array(FeedCoding.encoder.encode(RelayKeys().request(named: relay.name)))
            store.set(.fails)
            let answer = try await fixture.post(FeedAPI.certificates, request, as: relay.identity)
            #expect(answer.status == 503 && answer.fields[.retryAfter] == "2")
            store.set(nil)
            #expect(try await fixture.post(FeedAPI.certificates, request, as: relay.identity).status == 200)
        }
    }
}
