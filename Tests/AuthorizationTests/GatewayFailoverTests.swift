import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

/// An instance of a fleet of gateways, some of which are out of order.
@Suite(.timeLimit(.minutes(1))) struct GatewayFailoverTests {
    private let first = "gateway.example:17433"
    private let second = "other.example:17433"

    /// An app that was activated at the first gateway and knows of both.
    private func app(
        on clock: TestClock = TestClock(lasts: true)
    ) async throws -> (Fixture, Authorization, SecureStore) {
        let fixture = try Fixture(clock: clock)
        try list(fixture, [first, second])
        let (authorization, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.sent = [] }
        return (fixture, authorization, store)
    }

    private func list(_ fixture: Fixture, _ gateways: [String]) throws {
        let gateways = try gateways.map { ConfigurationDocument.Gateway(try Endpoint($0), priority: 1) }
        fixture.gateway.change { $0.gateways = gateways }
    }

    private func fetches(_ fixture: Fixture) -> [String] {
        fixture.gateway.sent(to: ControlAPI.Path.configuration).map { "\($0.gateway)" }
    }

    @Test func whatOneGatewayCannotAnswerTheOtherDoes() async throws {
        for dead in [first, second] {
            let (fixture, authorization, _) = try await app()
            fixture.gateway.state.withLock { $0.dead = [dead] }
            fixture.gateway.change { $0.application.config = "new" }
            try await authorization.authorize()
            #expect(authorization.configuration.application?.config == "new")
            #expect(fetches(fixture).last != dead)
            // It is not asked again for a while.
            fixture.gateway.state.withLock { $0.sent = [] }
            try await authorization.authorize()
            #expect(!fixture.gateway.sent.map { "\($0.gateway)" }.contains(dead))
        }
    }

    @Test func aGatewayThatHangsIsNotWaitedFor() async throws {
        // Sleeping ends at once with this clock: a gateway's moment is over as soon as it begins.
        let (fixture, authorization, _) = try await app(on: TestClock())
        fixture.gateway.state.withLock { $0.hanging = [first] }
        fixture.gateway.change { $0.application.config = "new" }
        try await authorization.authorize()
        #expect(authorization.configuration.application?.config == "new")
    }

    @Test func aGatewayThatFailsIsPassedOver() async throws {
        let (fixture, authorization, _) = try await app()
        fixture.gateway.state.withLock { $0.broken = [first] }
        try await authorization.authorize()
        #expect(fetches(fixture).last == second)
    }

    @Test func aRefusalIsAnAnswer() async throws {
        let (fixture, authorization, _) = try await app()
        fixture.gateway.state.withLock { $0.statuses = [ControlAPI.Path.configuration: 403] }
        await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(fetches(fixture).count == 1)
    }

    @Test func ifNoGatewayAnswersTheStoredConfigurationServes() async throws {
        let (fixture, authorization, _) = try await app()
        fixture.gateway.state.withLock { $0.dead = [first, second] }
        try await authorization.authorize()
        #expect(Set(fetches(fixture)) == [first, second])
    }

    @Test func aRestartKnowsTheOthers() async throws {
        let (fixture, _, store) = try await app()
        fixture.gateway.state.withLock { $0.dead = [first] }
        fixture.gateway.change { $0.application.config = "new" }
        let again = try fixture.authorization(on: store)
        try await again.authorize()
        #expect(again.configuration.application?.config == "new")
    }

    @Test func theGatewayOfTheActivationIsTheLastResort() async throws {
        let (fixture, authorization, _) = try await app()
        try list(fixture, [second, "third.example:1"])
        try await authorization.authorize()
        fixture.gateway.state.withLock { $0.dead = [second, "third.example:1"] }
        try await authorization.authorize()
        #expect(fetches(fixture).last == first)
    }

    @Test func theGatewayThatIsLeftServesAnAppThatWasActivatedAtAnother() async throws {
        let (fixture, authorization, store) = try await app()
        try list(fixture, [second])
        try await authorization.authorize()
        fixture.gateway.state.withLock { $0.dead = [first] }
        fixture.gateway.change { $0.application.config = "new" }
        let again = try fixture.authorization(on: store)
        try await again.authorize()
        #expect(again.configuration.application?.config == "new")
        #expect(fetches(fixture).last == second)
    }

    @Test func aConfigurationThatDoesNotVerifyNamesNoGateways() async throws {
        let (fixture, authorization, _) = try await app()
        let stranger = try TestAuthority(name: "Stranger")
        try list(fixture, ["evil.example:1"])
        let forged = try fixture.gateway.signed(
            fixture.gateway.state.withLock { $0.configuration }, by: stranger.signer())
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.configuration] = forged }
        try await authorization.authorize()
        fixture.gateway.state.withLock { $0.dead = [first, second] }
        try await authorization.authorize()
        #expect(!fixture.gateway.sent.contains { "\($0.gateway)" == "evil.example:1" })
    }

    @Test func tokensNamesAndProbesGoOnToo() async throws {
        let (fixture, authorization, _) = try await app()
        fixture.gateway.state.withLock { $0.dead = [first] }
        _ = try await authorization.authToken(for: .init(challenge: "c", server: "s"))
        let name = try #require(DNSName("a.example"))
        _ = try await authorization.outcome(of: DNSMessage(query: .init(name, .a)))
        try await authorization.probe(within: .seconds(10))
        for path in [AuthTokenAPI.Path.issue, ControlAPI.Path.names, ControlAPI.Path.health] {
            #expect(fixture.gateway.sent(to: path).last.map { "\($0.gateway)" } == second)
        }
    }

    @Test func theEventStreamMovesOnAtOnceAndTheInfrastructureIsNotLost() async throws {
        let (fixture, authorization, _) = try await app()
        let pipe = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = pipe }
        var states = authorization.infrastructureChanges().makeAsyncIterator()
        #expect(await states.next() == .unknown)
        async let running: Void = authorization.run()
        #expect(await states.next() == .reachable)
        let used = try #require(fixture.gateway.state.withLock { $0.streams.last })
        fixture.gateway.state.withLock { state in
            state.dead = [used]
            state.stream = BodyPipe()
        }
        pipe.finish(LoadError(.connectionLost, "The gateway was killed."))
        let other = used == first ? second : first
        #expect(try await eventually { fixture.gateway.state.withLock { $0.streams.last } == other })
        #expect(authorization.infrastructure == .reachable)
        #expect(!fixture.clock.sleeps.contains { $0 > .seconds(3) && $0 < .seconds(7) }, "no pause before the next")
        authorization.shutdown()
        await running
    }

    // MARK: Resets

    /// No other gateway is asked, and the one that was asked is not avoided afterwards.
    @Test(arguments: [ControlAPI.Path.names, AuthTokenAPI.Path.issue])
    func aResetEndsARequestAndIsNoFailureOfTheGateway(_ path: String) async throws {
        let (fixture, authorization, _) = try await app()
        let (isAsked, mayEnd) = (Signal(), Signal())
        fixture.gateway.state.withLock { state in
            state.holds[path] = {
                isAsked.fire()
                await mayEnd.wait()
            }
        }
        let order = await authorization.gatewaysToAsk()
        let name = try #require(DNSName("a.example"))
        let asking = Task {
            if path == ControlAPI.Path.names {
                _ = try await authorization.outcome(of: DNSMessage(query: .init(name, .a)))
            } else {
                _ = try await authorization.authToken(for: .init(challenge: "c", server: "s"))
            }
        }
        await isAsked.wait()
        authorization.resetConnections()
        mayEnd.fire()
        await #expect(throws: LoadError(.connectionLost, "")) { try await asking.value }
        #expect(fixture.gateway.sent(to: path).count == 1)
        #expect(await authorization.gatewaysToAsk() == order)
    }

    @Test func theEventStreamThatAResetEndsIsOpenedAgainAtTheSameGateway() async throws {
        let (fixture, authorization, _) = try await app()
        authorization.resetConnections()
        let reset = try #require(fixture.gateway.state.withLock { $0.resets.last })
        let pipe = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = pipe }
        async let running: Void = authorization.run()
        #expect(try await eventually { authorization.infrastructure == .reachable })
        let used = fixture.gateway.state.withLock { $0.streams }
        fixture.gateway.state.withLock { $0.stream = BodyPipe() }
        pipe.finish(reset)
        #expect(try await eventually { fixture.gateway.state.withLock { $0.streams.count } == 2 })
        #expect(fixture.gateway.state.withLock { $0.streams } == used + used)
        #expect(authorization.infrastructure == .reachable)
        authorization.shutdown()
        await running
    }
}
