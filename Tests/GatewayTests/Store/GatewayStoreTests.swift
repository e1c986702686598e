import Foundation
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Two gateways over one store: what one changes, the other sees, and they do not undo each other's changes.
@Suite(.timeLimit(.minutes(2))) struct GatewayStoreTests {
    private let fixture: DataFixture
    private let other: GatewayData

    init() async throws {
        fixture = try await DataFixture(standsStill: false)
        other = try await fixture.restarted()
    }

    private func users(of data: GatewayData) async throws -> [String] {
        guard case .users(let users) = await data.perform(.listUsers) else { throw TestFailure("no users") }
        return users
    }

    private func status(of presented: PresentedCertificate, at data: GatewayData) async throws -> String? {
        guard case .instances(let entries) = await data.perform(.listInstances) else { return nil }
        return entries.first { $0.instance == presented.name.instance.description }?.status
    }

    @Test func changesOfTheDirectoryBesideEachOtherAreAllKept() async throws {
        let gateways = [fixture.data, other]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let reply = await gateways[number % 2].perform(.addUser("user\(number)"))
                    #expect(reply == .done)
                }
            }
            try await group.waitForAll()
        }
        let expected = (["ann"] + (0..<20).map { "user\($0)" }).sorted()
        for gateway in gateways {
            try await gateway.catchUp()
            #expect(try await users(of: gateway) == expected)
        }
    }

    @Test func ofTwoGatewaysAndOneAccessKeyOneWins() async throws {
        for _ in 0..<10 {
            let link = try await fixture.link()
            let credentials = BasicCredentials(user: link.user, password: link.accessKey)
            let gateways = [fixture.data, other]
            let won = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let chain = try? await gateways[number % 2].enroll(
                            credentials, request: DataFixture.request(), source: [127, 0, 0, 1])
                        return chain != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(won == 1)
        }
    }

    @Test func anInstanceThatOneGatewayMadeOrRenewedIsKnownAtTheOther() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        #expect(try await other.admitted(presented).name == presented.name)
        let renewed = try await fixture.data.presented(
            fixture.data.reenroll(presented, request: DataFixture.request())[0])
        #expect(try await other.admitted(renewed).standing(of: renewed.serial) == .current)
        try await fixture.data.catchUp()
        await #expect(throws: GatewayError(.retired, "")) { try await fixture.data.admitted(presented) }
    }

    @Test func aRemovalAtOneGatewayEndsWhatTheOtherHasJustMade() async throws {
        for round in 0..<8 {
            let link = try await fixture.link()
            let credentials = BasicCredentials(user: link.user, password: link.accessKey)
            async let chain = try? other.enroll(credentials, request: DataFixture.request(), source: [127, 0, 0, 1])
            for _ in 0..<(round % 4) { await Task.yield() }
            try await RemovalTests.Removal.unentitle.perform(in: fixture)
            guard let der = await chain?.first else { continue }
            try await fixture.data.catchUp()
            #expect(try await status(of: fixture.data.presented(der), at: fixture.data) == "denied")
        }
    }

    /// The other gateway has not heard of the change yet.
    @Test func aKeyIsIssuedByTheRightsInTheStore() async throws {
        let issue = AdministrationCommand.issueKey(user: "ann", entitlement: RemovalTests.app)
        try await removeRight()
        let refused = await other.perform(issue)
        guard case .failure(let failure) = refused else { throw TestFailure("a key without a right") }
        #expect(failure.name == "notFound")
        #expect(try await other.store.accessKeys().isEmpty)
        try await giveRight()
        guard case .link = await other.perform(issue) else { throw TestFailure("no key for a right") }
    }

    @Test func noKeyThatIsIssuedDuringARemovalIsLeft() async throws {
        for round in 0..<8 {
            async let reply = other.perform(.issueKey(user: "ann", entitlement: RemovalTests.app))
            for _ in 0..<(round % 4) { await Task.yield() }
            try await removeRight()
            _ = await reply
            #expect(try await fixture.data.store.accessKeys().isEmpty, "\(round)")
            try await giveRight()
            try await other.catchUp()
        }
    }

    private func removeRight() async throws {
        try await fixture.perform(
            .unentitle(user: "ann", entitlement: RemovalTests.app, version: RemovalTests.version, confirmed: true))
    }

    private func giveRight() async throws {
        try await fixture.perform(
            .entitle(user: "ann", entitlement: RemovalTests.app, version: RemovalTests.version))
    }

    @Test func noEpochOfOneGatewayIsBelowAnEarlierOneOfTheOther() async throws {
        guard !TestFleet.isStandalone else { return }
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        var last: Int64 = 0
        for round in 0..<10 {
            let data = round % 2 == 0 ? fixture.data : other
            let text = try await data.configuration(for: presented, version: nil)
            let payload = try JWS(Array(text.utf8), type: ConfigurationDocument.type).payload
            let document = try ConfigurationDocument(parsing: payload)
            #expect(document.epoch > last)
            last = document.epoch
        }
    }

    @Test func aConfigurationContainsWhatTheOtherGatewayHasChanged() async throws {
        guard !TestFleet.isStandalone else { return }
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        _ = try await other.admitted(presented)
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .block))
        let text = try await other.configuration(for: presented, version: nil)
        let payload = try JWS(Array(text.utf8), type: ConfigurationDocument.type).payload
        #expect(try ConfigurationDocument(parsing: payload).status == .blocked)
    }

    @Test func onlyWhatOthersMustHearOfIsARevision() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let epoch = try await fixture.document(presented).epoch
        let before = try await fixture.data.store.changes(after: nil).revision
        #expect(try await fixture.data.standing(ofStoreWith: epoch, told: nil, of: presented) == .current)
        _ = try await fixture.document(presented)
        #expect(try await fixture.data.store.changes(after: nil).revision == before)
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .lock))
        let changes = try await fixture.data.store.changes(after: before)
        #expect(changes.revision == before + 1 && changes.instances.map(\.name) == [presented.name])
        #expect(changes.directory == nil && changes.authorities == nil)
    }

    /// The other gateway has another certificate of its own after a rotation that it did not make.
    @Test func aRotationAtOneGatewayIsFollowedByTheOther() async throws {
        guard !TestFleet.isStandalone else { return }
        _ = await fixture.data.perform(.authority(.rotate))
        _ = await fixture.data.perform(.authority(.finish(confirmed: true)))
        try await other.catchUp()
        #expect(await other.authorityDER == fixture.data.authorityDER)
        let (identities, authorities) = (await other.identities, await other.authorities)
        #expect(try identities.are(of: authorities))
    }
}

/// What only the store of a gateway that stands alone has.
@Suite(.enabled(if: TestFleet.isStandalone)) struct EmbeddedStoreTests {
    @Test func dataOfAnEarlierVersionAreTakenOver() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let collections = EmbeddedCollections(fixture.store)
        // An earlier version kept neither revisions nor the holders of rights.
        try await fixture.store.write { transaction in
            try transaction.removeAll(from: collections.revisions)
            try transaction.removeAll(from: collections.holders)
            try transaction.removeAll(from: collections.log)
        }
        let again = try await fixture.restarted()
        let reply = await again.perform(.removeUser("ann", confirmed: true))
        #expect(reply == .done)
        let text = try await again.configuration(for: presented, version: nil)
        let payload = try JWS(Array(text.utf8), type: ConfigurationDocument.type).payload
        #expect(try ConfigurationDocument(parsing: payload).status == .wiped)
    }

    @Test func aFollowerFurtherBehindThanTheLogReadsEverything() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let store = await fixture.data.store
        let start = try await store.changes(after: nil).revision
        let collections = EmbeddedCollections(fixture.store)
        try await fixture.store.write { transaction in
            for _ in 0..<EmbeddedRevisions.memory { _ = try transaction.advance(collections) }
        }
        #expect(try await store.changes(after: start + 1).instances.isEmpty)
        #expect(try await store.changes(after: start).instances.map(\.name) == [presented.name])
    }
}
