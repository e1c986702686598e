import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

/// A wall clock that is wrong: ahead for a moment while the app runs, turned back, or behind.
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

    // MARK: A certificate whose end a clock that is behind does not show

    /// The gateway's answer to a certificate that has expired by its clock.
    private func expired() throws -> ControlAnswer {
        let failure = ControlAPI.Failure(code: -602, name: ControlAPI.Refusal.expired, message: "Renew it.")
        return ControlAnswer(status: 403, body: try WireJSON.encode(failure))
    }

    @Test func aCertificateThatHasExpiredByTheGatewaysClockIsRenewed() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let refusal = try expired()
        fixture.gateway.change { $0.application.config = "new" }
        fixture.gateway.state.withLock { state in
            state.sent = []
            state.first[ControlAPI.Path.configuration] = [refusal]
        }
        try await authorization.authorize()
        #expect(authorization.configuration.application?.config == "new")
        let sent = fixture.gateway.sent
        let paths = sent.map { request in String(request.target.prefix { $0 != "?" }) }
        let expected = [ControlAPI.Path.configuration, ControlAPI.Path.reenroll, ControlAPI.Path.configuration]
        #expect(Array(paths.prefix(3)) == expected)
        #expect(sent.last?.identity != sent.first?.identity)
    }

    @Test func aGatewayThatRefusesTheRenewedCertificateTooIsNotAskedForAnother() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let refusal = try expired()
        fixture.gateway.state.withLock { state in
            state.sent = []
            state.first[ControlAPI.Path.configuration] = [refusal, refusal, refusal]
        }
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .credentialsRefused)
        #expect(fixture.gateway.sent(to: ControlAPI.Path.reenroll).count == 1)
        #expect(fixture.gateway.sent(to: ControlAPI.Path.configuration).count == 2)
    }

    /// An app that was started off-line hears that its certificate has expired when it opens the event stream.
    @Test func aStreamThatIsRefusedHasTheCertificateRenewed() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let refusal = try expired()
        fixture.gateway.state.withLock { state in
            state.statuses[ControlAPI.Path.events] = 403
            state.first[ControlAPI.Path.configuration] = [refusal]
        }
        let running = Task { await authorization.run() }
        #expect(try await eventually { !fixture.gateway.sent(to: ControlAPI.Path.reenroll).isEmpty })
        authorization.shutdown()
        await running.value
    }

    /// Its machine has been running for longer than the one on which the store was before.
    @Test func aStoreThatCameFromAnotherMachineIsNotRefusedWithoutTheGateway() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.sent = [] }
        fixture.clock.advance(uptime: 40 * 86_400)
        let moved = try fixture.authorization(on: store)
        _ = try? await moved.authorize()
        #expect(!fixture.gateway.sent(to: ControlAPI.Path.reenroll).isEmpty)
        #expect(!fixture.gateway.sent(to: ControlAPI.Path.configuration).isEmpty)
    }

    @Test func aRenewalThatTheGatewayFindsTooLateAsksForAnotherActivation() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let refusal = try expired()
        fixture.gateway.state.withLock { state in
            state.first[ControlAPI.Path.configuration] = [refusal]
            state.first[ControlAPI.Path.reenroll] = [refusal]
        }
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .identityExpired)
    }

    @Test func aCertificateExpiresByTheRunningTimeToo() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.sent = [] }
        fixture.clock.advance(uptime: 8 * 86_400)
        _ = try? await authorization.authorize()
        #expect(fixture.gateway.sent.first?.target == ControlAPI.Path.reenroll)
    }

    @Test func aRenewalIsDueByTheRunningTimeToo() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        // More than two thirds of a certificate's 7 days.
        fixture.clock.advance(uptime: 5 * 86_400)
        let running = Task { await authorization.run() }
        #expect(try await eventually { !fixture.gateway.sent(to: ControlAPI.Path.reenroll).isEmpty })
        authorization.shutdown()
        await running.value
    }
}
