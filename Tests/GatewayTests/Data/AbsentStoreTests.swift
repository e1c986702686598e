import Logging
import SallyportWire
import Testing

@testable import SallyportGateway

/// A gateway goes on while the store that it shares with others is away.
@Suite(.timeLimit(.minutes(1))) struct AbsentStoreTests {
    private let fixture: DataFixture
    private let store: FaultyStore
    private let data: GatewayData

    init() async throws {
        fixture = try await DataFixture()
        (store, data) = try await fixture.faulty()
    }

    @Test func upkeepThatFailsIsToBeTriedAgain() async throws {
        let upkeep = GatewayUpkeep(data: data, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        store.set(.fails)
        #expect(await !upkeep.run())
        store.set(nil)
        #expect(await upkeep.run())
    }

    /// The store commits the changes, and cannot be read.
    @Test func commandsThatWereCommittedAreDoneThoughTheyAreNotInForceYet() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await data.catchUp()
        let before = try await fixture.entries().count
        store.set(.fails)
        let commands: [AdministrationCommand] = [
            .addUser("bob"), .withdraw(instance: presented.name.instance.description, .lock),
        ]
        for command in commands { try await expectDoneWithAWarning(command) }
        store.set(nil)
        // A rotation reads the store after its transaction too.
        store.failAfterRevision()
        try await expectDoneWithAWarning(.authority(.rotate))
        store.set(nil)
        let outcomes = try await fixture.entries().dropFirst(before).map { $0[.outcome] }
        #expect(outcomes.count > commands.count && outcomes.allSatisfy { $0 == "done" })
        try await data.catchUp()
        #expect(await data.directory.users["bob"] != nil)
        #expect(try await data.admitted(presented).withdrawal == .locked)
        #expect(await data.authorities.record.next != nil)
    }

    private func expectDoneWithAWarning(_ command: AdministrationCommand) async throws {
        let reply = await data.perform(command)
        guard case .warned(let done, _) = reply, done.isDone else { throw TestFailure("\(command): \(reply)") }
    }

    @Test func aGatewayThatCannotFollowItsFleetIsNotReady() async throws {
        let probe = StoreProbe(data, folder: fixture.path)
        #expect(await probe.look() == .well)
        store.set(.fails)
        await #expect(throws: GatewayError.self) { try await data.catchUp() }
        #expect(await probe.look() == .notReady("The fleet's database cannot be followed."))
        store.set(nil)
        try await data.catchUp()
        #expect(await probe.look() == .well)
    }
}
