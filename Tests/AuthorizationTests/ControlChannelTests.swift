import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthorization

/// The event stream as others follow it: they ask for it to be opened, given up, and for a sign of life.
@Suite(.timeLimit(.minutes(1))) struct ControlChannelTests {
    private func opened(_ fixture: Fixture) -> Int { fixture.gateway.sent(to: ControlAPI.Path.events).count }

    @Test func eachWordOfTheStreamIsTold() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let stream = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = stream }
        var changes = authorization.channelChanges().makeAsyncIterator()
        #expect(await changes.next() == ControlChannel.none)
        async let running: Void = authorization.run()
        #expect(await changes.next() == .open(heard: 0, over: nil))
        for number: UInt64 in 1...3 {
            _ = stream.push(Array(ServerSentEvent.heartbeat.utf8))
            #expect(await changes.next() == .open(heard: number, over: nil))
        }
        stream.finish(LoadError(.connectionLost, "The gateway is gone."))
        #expect(await changes.next() == .lost)
        authorization.shutdown()
        await running
    }

    /// Without the call it would wait for 4 to 6 s, which this clock never ends.
    @Test func aCallOpensItAtOnce() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        async let running: Void = authorization.run()
        for number in 1...5 {
            #expect(try await eventually { opened(fixture) >= number && authorization.infrastructure == .unreachable })
            authorization.callChannel(drops: false)
        }
        #expect(try await eventually { opened(fixture) >= 6 })
        authorization.shutdown()
        await running
    }

    @Test func aStreamThatHangsIsGivenUpAndItsConnectionsWithIt() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.stream = BodyPipe() }
        async let running: Void = authorization.run()
        #expect(try await eventually { authorization.infrastructure == .reachable })
        let retired = fixture.gateway.state.withLock { $0.retired }
        // A call alone leaves it.
        authorization.callChannel(drops: false)
        for _ in 0..<1000 { await Task.yield() }
        #expect(opened(fixture) == 1)
        fixture.gateway.state.withLock { $0.stream = BodyPipe() }
        authorization.callChannel(drops: true)
        #expect(try await eventually { opened(fixture) == 2 })
        #expect(fixture.gateway.state.withLock { $0.retired } == retired + 1)
        authorization.shutdown()
        await running
    }

    /// A gateway ends a stream whose certificate counts no more. The app has another one by then, and no gateway is lost.
    @Test func aStreamOfAnEarlierCertificateIsOpenedAnewAtOnce() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let stream = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = stream }
        async let running: Void = authorization.run()
        #expect(try await eventually { authorization.infrastructure == .reachable })
        try await authorization.renewIdentity()
        fixture.gateway.state.withLock { $0.stream = BodyPipe() }
        stream.finish()
        #expect(try await eventually { opened(fixture) == 2 })
        #expect(authorization.infrastructure == .reachable)
        authorization.shutdown()
        await running
    }

    @Test func aStreamThatAnotherHasIsLeftToIt() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.events = [ControlEvent(.replaced, id: 7).serverSentEvent.serialized] }
        async let running: Void = authorization.run()
        #expect(try await eventually { fixture.clock.sleeps.contains(.seconds(60)) })
        authorization.callChannel(drops: true)
        for _ in 0..<1000 { await Task.yield() }
        #expect(opened(fixture) == 1)
        authorization.shutdown()
        await running
    }

    /// It would hold the private key of an identity that is destroyed.
    @Test func aWipeEndsTheStream() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let stream = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = stream }
        async let running: Void = authorization.run()
        #expect(try await eventually { stream.isAwaited })
        wipe(through: fixture.gateway)
        _ = try? await authorization.authorize()
        #expect(try await eventually { stream.isDiscarded })
        #expect(opened(fixture) == 1)
        authorization.shutdown()
        await running
    }

    /// While an observer holds up the end of the wipe, the identity is gone already, and the state is not yet `wiped`.
    @Test func aFleetsStreamIsNotOpenedAgainAndAgainDuringAWipe() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let gateways = try ["gateway.example:17433", "other.example:17433"].map {
            ConfigurationDocument.Gateway(try Endpoint($0), priority: 1)
        }
        fixture.gateway.change { $0.gateways = gateways }
        let (authorization, _) = try await fixture.activated()
        let stream = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = stream }
        let mayEnd = Signal()
        let observation = authorization.onAccessChange(awaiting: { change in
            if change.to == .withdrawn(.wiped) { await mayEnd.wait() }
        })
        async let running: Void = authorization.run()
        // The fetch for the new stream is over.
        #expect(try await eventually { fixture.gateway.sent(to: ControlAPI.Path.storedConfiguration).count >= 2 })
        wipe(through: fixture.gateway)
        let wiping = Task { try await authorization.authorize() }
        #expect(try await eventually { stream.isDiscarded })
        #expect(
            try await eventually(within: .seconds(10)) {
                fixture.clock.sleeps.contains { TestClock.retry.contains($0) }
            })
        #expect(authorization.state != .wiped(.wiped))
        mayEnd.fire()
        await #expect(throws: AuthorizationError.self) { try await wiping.value }
        authorization.shutdown()
        await running
        withExtendedLifetime(observation) {}
    }

    private func wipe(through gateway: FakeGateway) {
        gateway.change { document in
            document.status = .wiped
            document.code = .wiped
        }
    }

    @Test func aSignOfLifeShowsNoCertificate() async throws {
        let fixture = try Fixture()
        let store = try await fixture.store()
        let authorization = try fixture.authorization(on: store)
        await #expect(throws: LoadError(.notAuthorized, "")) { _ = try await authorization.probe(within: .seconds(10)) }
        try await authorization.activate(link: fixture.gateway.link())
        try await authorization.probe(within: .seconds(10))
        let sent = try #require(fixture.gateway.sent.last)
        #expect(sent.target == ControlAPI.Path.health && sent.identity == nil && sent.isAlone)
        let authority = try fixture.gateway.authority.der
        #expect(sent.trust == .authorities([authority]))
        fixture.gateway.state.withLock { $0.statuses[ControlAPI.Path.health] = 500 }
        await #expect(throws: LoadError(.protocolViolation, "")) {
            _ = try await authorization.probe(within: .seconds(10))
        }
    }

    @Test func settingsAreListedWithoutSecrets() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let settings = await authorization.settings().map { "\($0.name): \($0.value)" }
        #expect(settings.contains("state: authorized") && settings.contains("default route: direct"))
        #expect(settings.contains("gateway: gateway.example:17433"))
        #expect(!settings.joined().contains("PRIVATE KEY") && !settings.joined().contains("secret-key"))
    }
}
