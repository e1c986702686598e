import Logging
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
