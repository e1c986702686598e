import Foundation
import HashTreeCollections
import SallyportWire
import Testing

@testable import SallyportGateway

/// What a gateway does with renewed certificates that a relay has seen in use.
@Suite struct ReportedRenewalTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    /// A certificate that was issued and not used at a gateway yet.
    private func renewal() async throws -> FeedReport.Renewal {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let chain = try await fixture.data.reenroll(presented, request: DataFixture.request())
        let renewed = try await fixture.data.presented(chain[0])
        return FeedReport.Renewal(name: renewed.name, serial: renewed.serial)
    }

    private func standing(of renewal: FeedReport.Renewal) async throws -> InstanceRecord.Standing? {
        try await fixture.data.catchUp()
        return await fixture.data.instances[renewal.name.instance]?.standing(of: renewal.serial)
    }

    @Test func oneThatTheStoreDoesNotTakeIsToBeReportedAgain() async throws {
        let (store, data) = try await fixture.faulty()
        let (first, second) = (try await renewal(), try await renewal())
        store.refuseChanges(true)
        #expect(await data.adopt([first, second]) == [first, second])
        #expect(try await standing(of: first) == .renewed)
        store.refuseChanges(false)
        #expect(await data.adopt([first, second]).isEmpty)
        for renewal in [first, second] { #expect(try await standing(of: renewal) == .current) }
        #expect(await data.adopt([first, second]).isEmpty)
    }

    @Test func oneThatAnotherGatewayHasIssuedAMomentAgoIsTaken() async throws {
        let (_, other) = try await fixture.faulty()
        let renewal = try await renewal()
        #expect(await other.adopt([renewal]).isEmpty)
        #expect(try await standing(of: renewal) == .current)
    }

    @Test func oneThatIsNotKnownWhileTheStoreCannotSaySoIsToBeReportedAgain() async throws {
        let (store, other) = try await fixture.faulty()
        let renewal = try await renewal()
        store.set(.isCutOff)
        #expect(await other.adopt([renewal]) == [renewal])
        store.set(nil)
        #expect(await other.adopt([renewal]).isEmpty)
        #expect(try await standing(of: renewal) == .current)
    }

    @Test func oneOfAnInstanceThatThereIsNotIsNotReportedAgain() async throws {
        let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
        #expect(await fixture.data.adopt([.init(name: name, serial: "00")]).isEmpty)
    }
}
