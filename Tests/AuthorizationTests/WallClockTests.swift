import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

/// A wall clock that is wrong for a moment while the app runs.
@Suite(.timeLimit(.minutes(1))) struct WallClockTests {
    /// Longer than signers are valid, in seconds.
    private let jump: Int64 = 120 * 86_400

    /// An activated app that ran while the clock was ahead, with its lease over; the clock is right again.
    private func misled() async throws -> (Fixture, Authorization, SecureStore) {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, store) = try await fixture.activated()
        fixture.clock.advance(wall: jump)
        let running = Task { await authorization.run() }
        #expect(try await eventually { authorization.state == .locked(.blocked) })
        authorization.shutdown()
        await running.value
        fixture.clock.advance(wall: -jump)
        return (fixture, authorization, store)
    }

    @Test func aClockThatWasAheadLocksOnlyUntilTheNextConfiguration() async throws {
        let (fixture, authorization, store) = try await misled()
        #expect(try fixture.authorization(on: store).state == .locked(.blocked), "the lease itself stays over")
        fixture.gateway.change { $0.application.config = "new" }
        try await authorization.authorize()
        #expect(authorization.state == .authorized)
        try authorization.checkAuthorized()
    }

    @Test func andSoAfterARestart() async throws {
        let (fixture, _, store) = try await misled()
        fixture.gateway.change { $0.application.config = "new" }
        let restarted = try fixture.authorization(on: store)
        try await restarted.authorize()
        #expect(restarted.state == .authorized)
        try restarted.checkAuthorized()
    }

    @Test func aStoreOfAnEarlierVersionHasOnlyTheMarkOfTheLease() async throws {
        struct Mark: Codable, Sendable {}
        let (fixture, _, store) = try await misled()
        let marks = store.reservedCollection("authorization.time", of: Mark.self)
        try await store.write { try $0.remove("gateway", from: marks) }
        fixture.gateway.change { $0.application.config = "new" }
        let restarted = try fixture.authorization(on: store)
        try await restarted.authorize()
        #expect(restarted.state == .authorized)
    }

    @Test func aClockThatIsTurnedBackDoesNotMakeAnExpiredSignerValid() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let expiring = try fixture.gateway.authority.signer(validity: -3600...600)
        fixture.gateway.change { document in
            document.application.config = "forged"
            document.leaseEnd = document.iat + 300
        }
        let forged = try fixture.gateway.signed(fixture.gateway.state.withLock { $0.configuration }, by: expiring)
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.configuration] = forged }
        fixture.clock.advance(wall: -3000, uptime: 700)
        try await authorization.authorize()
        #expect(authorization.configuration.application?.config == "")
    }

    @Test func turningTheClockBackGainsNoMoreThanAMinute() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, store) = try await fixture.activated()
        let turnedBack = TestClock()
        turnedBack.advance(uptime: 500)
        #expect(try StoredAuthorization.read(from: store, clock: turnedBack).state == .authorized)
        fixture.clock.advance(wall: 86_000)
        let running = Task { await authorization.run() }
        #expect(
            try await eventually {
                try StoredAuthorization.read(from: store, clock: turnedBack).state == .locked(.blocked)
            })
        authorization.shutdown()
        await running.value
        fixture.clock.advance(wall: -86_000, uptime: 500)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
    }
}
