import Foundation
import SallyportCore
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What the gateways of a fleet know of each other; of one that stands alone, what it knows of itself.
@Suite(.timeLimit(.minutes(1))) struct GatewayRowsTests {
    private let fixture: DataFixture

    init() async throws {
        fixture = try await DataFixture()
        try await fixture.data.renewTokenKeys()
        try await fixture.data.listens(controlPort: 1001, relayPort: 1002)
    }

    private func entries(_ data: GatewayData) async throws -> [AdministrationReply.GatewayEntry] {
        guard case .gateways(let entries) = await data.perform(.listGateways) else { throw TestFailure("no gateways") }
        return entries
    }

    private func revision() async throws -> Int64 { try await fixture.data.store.changes(after: nil).revision }

    @Test func aGatewayThatListensIsListedUntilItIsRemoved() async throws {
        let entry = try #require(try await entries(fixture.data).first)
        #expect(entry.name == "localhost" && entry.control == "localhost:1001" && entry.relay == "localhost:1002")
        #expect(entry.state == "running" && entry.isThis)
        fixture.advance(29)
        #expect(try await entries(fixture.data).map(\.state) == ["running"])
        guard case .failure(let failure) = await fixture.data.perform(.removeGateway("localhost")) else {
            Issue.record("a gateway that runs was removed")
            return
        }
        #expect(failure.name == "invalid")
        fixture.advance(1)
        #expect(try await entries(fixture.data).map(\.state) == ["silent"])
        try await fixture.perform(.removeGateway("localhost:1001"))
        #expect(try await entries(fixture.data).isEmpty)
        guard case .failure(let gone) = await fixture.data.perform(.removeGateway("localhost")) else { return }
        #expect(gone.name == "notFound")
    }

    @Test func whatEndedInOrderSaysSoAndMayBeRemovedAtOnce() async throws {
        try await fixture.data.leaveFleet()
        #expect(try await entries(fixture.data).map(\.state) == ["ended"])
        try await fixture.perform(.removeGateway(try await entries(fixture.data)[0].id))
    }

    @Test func presenceIsNoRevisionAndAChangeOfTheKeysIsOne() async throws {
        let before = try await revision()
        fixture.advance(20)
        try await fixture.data.showPresence()
        #expect(try await revision() == before)
        #expect(try await entries(fixture.data).map(\.state) == ["running"])
        #expect(abs(try await entries(fixture.data)[0].seen.timeIntervalSince(fixture.now)) < 1)
        fixture.advance(TokenKeys.period)
        try await fixture.data.renewTokenKeys()
        try await fixture.data.showPresence()
        #expect(try await revision() == before + 1)
    }

    @Test func aGatewayThatWasRemovedAndRunsTellsOfItselfAgain() async throws {
        try await fixture.data.leaveFleet()
        try await fixture.perform(.removeGateway("localhost"))
        try await fixture.data.showPresence()
        #expect(try await entries(fixture.data).map(\.state) == ["running"])
    }

    @Test func relaysFollowTheGatewaysThatAreListed() async throws {
        let position = await fixture.data.followed
        let other = GatewayRecord(
            id: GatewayIdentifier(), name: "b.example", control: try Endpoint("b.example:2001"), relay: nil,
            tokenKeys: [])
        _ = try await fixture.data.store.register(other, at: fixture.now)
        try await fixture.data.catchUp()
        let both = ["b.example:2001", "localhost:1001"]
        #expect(await fixture.data.controls == both)
        #expect(await fixture.data.feed(after: position)?.controls == both)
        let before = await fixture.data.followed
        fixture.advance(30)
        try await fixture.perform(.removeGateway("b.example"))
        #expect(await fixture.data.controls == ["localhost:1001"])
        #expect(await fixture.data.feed(after: before)?.controls == ["localhost:1001"])
    }

    /// It named the gateways too, once.
    @Test func anEarlierTableOfRelaysIsRead() throws {
        let text = #"{"controls":["a.example:17433"],"relays":[]}"#
        #expect(try JSONDecoder().decode(RelayTable.self, from: Data(text.utf8)) == RelayTable())
    }

    @Test func aGatewayThatStartsAgainIsTheSameOne() async throws {
        let id = try await entries(fixture.data)[0].id
        let before = try await revision()
        let again = try await fixture.restarted()
        try await again.listens(controlPort: 1001, relayPort: 1002)
        #expect(try await entries(again).map(\.id) == [id])
        #expect(try await revision() == before)
        try await again.listens(controlPort: 2001, relayPort: 1002)
        #expect(try await entries(again).map(\.control) == ["localhost:2001"])
        #expect(try await revision() == before + 1)
    }

    @Test func aGatewayThatStandsAloneTellsAppsOfItself() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let document = try await fixture.document(presented)
        #expect(document.gateways?.map(\.endpoint.description) == ["localhost:1001"])
        #expect(document.clusters.first?.relays.map(\.endpoint.description) == ["localhost:1002"])
    }
}

/// Two gateways of one fleet, each with a store of its own.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct GatewaysOfAFleetTests {
    private let fixture: DataFixture
    private let other: GatewayData
    private let own: SecureStore

    init() async throws {
        fixture = try await DataFixture(standsStill: false)
        let path = fixture.path + "-other"
        own = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path).key"), options: StoreOptions())
        let fleet = try #require(fixture.fleet)
        try await GatewayData.join(fleet.membership, own, name: "localhost", through: TestFleet.databases)
        other = try await GatewayData.open(own, through: TestFleet.databases) { Date() }
        for (data, port) in [(fixture.data, 1001), (other, 2001)] as [(GatewayData, UInt16)] {
            try await data.renewTokenKeys()
            try await data.listens(controlPort: port, relayPort: port + 1)
        }
        try await fixture.data.catchUp()
    }

    private func token(
        by issuer: GatewayData, for presented: PresentedCertificate
    ) async throws -> String {
        let service = TokenService(current: await issuer.currentState())
        return try service.issue(
            .init(challenge: "c", server: "s"), to: await issuer.admitted(presented), by: await issuer.settings
        ).token
    }

    @Test func aTokenOfOneVerifiesAtTheOtherAndTheKeysOfAllArePublishedByEach() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await other.catchUp()
        for (issuer, verifier) in [(fixture.data, other), (other, fixture.data)] {
            let text = try await token(by: issuer, for: presented)
            let (verdict, claims) = TokenService(current: await verifier.currentState()).verify(text)
            #expect(verdict == .valid)
            #expect(claims?.issuer == "https://localhost:\(await issuer.settings.controlPort)")
        }
        let published = [await fixture.data.readyTokenKeys.published, await other.readyTokenKeys.published]
        #expect(Set(published[0].keys) == Set(published[1].keys) && published[0].keys.count == 2)
    }

    @Test func theTokensOfARemovedGatewayVerifyNoMore() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let text = try await token(by: other, for: presented)
        try await other.leaveFleet()
        try await fixture.perform(.removeGateway("localhost:2001"))
        #expect(TokenService(current: await fixture.data.currentState()).verify(text).verdict == .malformed)
    }

    @Test func appsAreToldOfAllControlListenersAndRelays() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        for data in [fixture.data, other] {
            let text = try await data.configuration(for: presented, version: nil)
            let document = try ConfigurationDocument(
                parsing: JWS(Array(text.utf8), type: ConfigurationDocument.type).payload)
            #expect(document.gateways?.map(\.endpoint.description) == ["localhost:1001", "localhost:2001"])
            let relays = document.clusters.first { $0.name == "main" }?.relays
            #expect(relays?.map(\.endpoint.description) == ["localhost:1002", "localhost:2002"])
            #expect(Set(relays?.map(\.priority) ?? []) == [1])
        }
    }

    @Test func theLastGatewayOfAFleetTellsAppsOfItself() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.data.leaveFleet()
        #expect(await other.perform(.removeGateway("localhost:1001")) == .done)
        let text = try await other.configuration(for: presented, version: nil)
        let document = try ConfigurationDocument(
            parsing: JWS(Array(text.utf8), type: ConfigurationDocument.type).payload)
        #expect(document.gateways?.map(\.endpoint.description) == ["localhost:2001"])
    }

    @Test func aLockedInstanceIsToldOfThemToo() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .lock))
        #expect(try await fixture.document(presented).gateways?.count == 2)
    }

    @Test func anOlderRecordOfAGatewayIsNoticed() async throws {
        let owner = try #require(fixture.fleet).owner()
        _ = try await owner.transaction(.write) { try await $0.run("CREATE TABLE kept AS SELECT * FROM gateway", []) }
        try await other.listens(controlPort: 2002, relayPort: 2003)
        try await fixture.data.catchUp()
        _ = try await owner.transaction(.write) {
            try await $0.run(
                "UPDATE gateway SET revision = kept.revision, body = kept.body FROM kept WHERE kept.id = gateway.id", []
            )
        }
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.refresh() }
        await owner.close()
    }

    @Test func moreGatewaysThanTheLimitAreRefused() async throws {
        let store = await fixture.data.store
        func record(_ number: Int) throws -> GatewayRecord {
            let endpoint = try Endpoint("g\(number).example:1")
            return GatewayRecord(
                id: GatewayIdentifier(), name: "g\(number).example", control: endpoint, relay: endpoint, tokenKeys: [])
        }
        for number in 2..<GatewayRecord.limit { _ = try await store.register(record(number), at: Date()) }
        await #expect(throws: GatewayError(.invalid, "")) {
            try await store.register(record(GatewayRecord.limit), at: Date())
        }
        #expect(try await store.gateways().count == GatewayRecord.limit)
    }
}
