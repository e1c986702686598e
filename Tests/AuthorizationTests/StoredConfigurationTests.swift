import SallyportAuthorization
import SallyportBase
import SallyportWire
import Testing

/// What an app reports to its gateway about its store.
@Suite struct StoredConfigurationTests {
    private func queries(_ gateway: FakeGateway, _ path: String = ControlAPI.Path.configuration) -> [String] {
        gateway.sent(to: path).map { String($0.target.drop { $0 != "?" }.dropFirst()) }
    }

    @Test func theStoredEpochIsReportedAtOnceAndWithTheNextFetch() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let first = fixture.gateway.state.withLock { $0.configuration.epoch }
        #expect(queries(fixture.gateway) == ["stored=0"])
        #expect(queries(fixture.gateway, ControlAPI.Path.storedConfiguration) == ["stored=\(first)"])
        fixture.gateway.change { $0.application.config = "new" }
        try await authorization.authorize()
        #expect(queries(fixture.gateway).last == "stored=\(first)&version=1.0")
        #expect(queries(fixture.gateway, ControlAPI.Path.storedConfiguration).last == "stored=\(first + 1)")
        // Even for another program on the same store: the epoch is read from the store, not from memory.
        try await fixture.authorization(on: store).authorize()
        #expect(queries(fixture.gateway).last == "stored=\(first + 1)&version=1.0")
    }

    @Test func aStoreThatIsBehindSaysSoOnceMoreAndNamesWhatItWasTold() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let stored = fixture.gateway.state.withLock { state in
            state.stored = state.configuration.epoch + 5
            state.sent = []
            return state.configuration.epoch
        }
        await #expect(throws: Never.self) { try await authorization.authorize() }
        let told = queries(fixture.gateway)
        #expect(told.first == "stored=\(stored)&version=1.0")
        #expect(told.dropFirst().allSatisfy { $0 == "stored=\(stored)&told=\(stored + 5)&version=1.0" })
        #expect(told.count == 3, "a gateway that only refuses is not asked without end")
    }
}
