import Foundation
import SallyportCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// What the gateway concludes from instances' reports about their stores.
@Suite struct StoredConfigurationTests {
    private let fixture: DataFixture
    private let presented: PresentedCertificate

    init() async throws {
        fixture = try await DataFixture()
        presented = try await fixture.enroll(fixture.link(), DataFixture.request())
    }

    private func standing(_ stored: Int64, told: Int64? = nil) async throws -> StoreStanding {
        try await fixture.data.standing(ofStoreWith: stored, told: told, of: presented)
    }

    private func status() async throws -> ConfigurationDocument.Status { try await fixture.document(presented).status }

    @Test func aStoreThatMovesOnIsCurrent() async throws {
        #expect(try await standing(0) == .current)
        var last: Int64 = 0
        for _ in 0..<3 {
            last = try await fixture.document(presented).epoch
            #expect(try await standing(last) == .current)
            #expect(try await standing(last) == .current)
        }
        #expect(try await status() == .active)
    }

    @Test func anAnswerThatWasLostIsNotMissed() async throws {
        let kept = try await fixture.document(presented).epoch
        #expect(try await standing(kept) == .current)
        _ = try await fixture.document(presented)
        #expect(try await standing(kept) == .current)
    }

    @Test func aQuestionThatComesLateLocksNothing() async throws {
        let (old, new) = (try await fixture.document(presented).epoch, try await fixture.document(presented).epoch)
        #expect(try await standing(new) == .current)
        #expect(try await standing(old) == .behind(new))
        #expect(try await standing(0) == .behind(new))
        // Nor does a request prove it that names an epoch which a newer one has replaced since.
        #expect(try await standing(0, told: old) == .behind(new))
        #expect(try await status() == .active)
    }

    @Test func anOlderStoreThatWasToldOfTheNewerOneIsLocked() async throws {
        let (old, new) = (try await fixture.document(presented).epoch, try await fixture.document(presented).epoch)
        #expect(try await standing(new) == .current)
        #expect(try await standing(old) == .behind(new))
        #expect(try await standing(old, told: new) == .putBack)
        #expect(try await status() == .locked)
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .unlock))
        let unlocked = try await fixture.document(presented)
        #expect(unlocked.status == .active)
        #expect(try await standing(unlocked.epoch) == .current)
        #expect(try await status() == .active)
    }

    @Test func anOlderStoreWithAReplacedCertificateLocksToo() async throws {
        let new = try await fixture.document(presented).epoch
        #expect(try await standing(new) == .current)
        let renewed = try await fixture.data.presented(
            fixture.data.reenroll(presented, request: DataFixture.request())[0])
        #expect(try await fixture.document(renewed).status == .active)
        #expect(try await standing(new + 1_000_000) == .current)
        #expect(try await standing(0) == .behind(new))
        #expect(try await standing(0, told: new) == .putBack)
        #expect(try await fixture.document(renewed).status == .locked)
    }

    @Test func epochsThatWereNeverSignedAreNotRecorded() async throws {
        let signed = try await fixture.document(presented).epoch
        #expect(try await standing(1 << 53) == .current)
        #expect(try await standing(signed) == .current)
        #expect(try await standing(signed - 1) == .behind(signed))
    }

    @Test func theWordOutlivesTheGateway() async throws {
        let epoch = try await fixture.document(presented).epoch
        #expect(try await standing(epoch) == .current)
        let again = try await fixture.restarted()
        #expect(try await again.standing(ofStoreWith: 0, told: nil, of: presented) == .behind(epoch))
    }
}
