import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import TestSupport
import Testing

@Suite("A running authorization", .timeLimit(.minutes(1))) struct RunTests {
    @Test("A new event stream makes it fetch, and a changed configuration tells the app") func fetches() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        var events = authorization.events.makeAsyncIterator()
        fixture.gateway.change { $0.application.config = "new" }
        async let running: Void = authorization.run()
        #expect(await events.next()?.kind == .remoteSettingsUpdate)
        authorization.shutdown()
        await running
        #expect(authorization.configuration.application?.config == "new")
    }

    /// An activated app after a restart, some seconds later, and the gateway's next word for it.
    private func restarted(
        after seconds: Int64 = 0, _ change: (inout ConfigurationDocument) -> Void
    ) async throws -> (Fixture, Authorization) {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (_, store) = try await fixture.activated()
        fixture.clock.advance(wall: seconds, uptime: seconds)
        fixture.gateway.change(change)
        return (fixture, try fixture.authorization(on: store))
    }

    @Test("Without authorize() it fetches and stores, and opens nothing") func opensNothing() async throws {
        let (fixture, authorization) = try await restarted { $0.application.config = "new" }
        let epoch = fixture.gateway.state.withLock { $0.configuration.epoch }
        let running = Task { await authorization.run() }
        // Sent when all that follows from the new configuration is done.
        let report = "\(ControlAPI.Path.storedConfiguration)?stored=\(epoch)"
        #expect(try await eventually { fixture.gateway.sent.contains { $0.target == report } })
        #expect(authorization.configuration.application?.config == "new")
        #expect(authorization.state == .notAuthorized)
        #expect(throws: AccessDenied(.notAuthorized)) { try authorization.checkAuthorized() }
        #expect(try await authorization.authorize() == .authorized)
        try authorization.checkAuthorized()
        authorization.shutdown()
        await running.value
    }

    @Test("Without authorize() a withdrawal holds at once") func withdrawsAtOnce() async throws {
        let (fixture, authorization) = try await restarted { document in
            document.status = .blocked
            document.code = .blocked
        }
        let running = Task { await authorization.run() }
        #expect(try await eventually { authorization.state == .locked(.blocked) })
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
        authorization.shutdown()
        await running.value
        withExtendedLifetime(fixture) {}
    }

    /// After each authorize(), a block of the app's own marks the place in the events.
    @Test("What it fetched before an authorize() without the gateway is told by that, once")
    func tellsLater() async throws {
        let (fixture, authorization) = try await restarted { document in
            document.application.config = "new"
            document.policy = .object(["limit": .string("new")])
        }
        let epoch = fixture.gateway.state.withLock { $0.configuration.epoch }
        var events = authorization.events.makeAsyncIterator()
        let running = Task { await authorization.run() }
        let report = "\(ControlAPI.Path.storedConfiguration)?stored=\(epoch)"
        #expect(try await eventually { fixture.gateway.sent.contains { $0.target == report } })
        fixture.gateway.state.withLock { $0.failure = .refused }
        try await authorization.authorize()
        fixture.gateway.state.withLock { $0.failure = nil }
        try await authorization.executeBlock(id: "a", title: "", message: "")
        try await authorization.authorize()
        try await authorization.executeBlock(id: "b", title: "", message: "")
        var kinds: [AuthorizationEvent.Kind] = []
        for _ in 0..<5 { if let event = await events.next() { kinds.append(event.kind) } }
        #expect(kinds == [.authorized, .remoteSettingsUpdate, .policyUpdate, .notAuthorized, .notAuthorized])
        authorization.shutdown()
        await running.value
        withExtendedLifetime(fixture) {}
    }

    /// An app whose lease was over when it started again. The gateway has the next lease for it.
    private func restartedAfterItsLease() async throws -> (Fixture, Authorization) {
        let away: Int64 = 86_401
        let (fixture, authorization) = try await restarted(after: away) { document in
            document.iat += away
            document.leaseEnd = document.iat + 3600
        }
        #expect(authorization.state == .locked(.blocked))
        return (fixture, authorization)
    }

    @Test("Without authorize() a lease that was over at the start stays so") func leaseOverAtStart() async throws {
        let (fixture, authorization) = try await restartedAfterItsLease()
        let epoch = fixture.gateway.state.withLock { $0.configuration.epoch }
        let running = Task { await authorization.run() }
        let report = "\(ControlAPI.Path.storedConfiguration)?stored=\(epoch)"
        #expect(try await eventually { fixture.gateway.sent.contains { $0.target == report } })
        #expect(authorization.state == .locked(.blocked))
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
        #expect(try await authorization.authorize() == .authorized)
        try authorization.checkAuthorized()
        authorization.shutdown()
        await running.value
    }

    @Test("After an authorize() without the gateway, it opens once there is a lease again")
    func opensAfterWithdrawn() async throws {
        let (fixture, authorization) = try await restartedAfterItsLease()
        fixture.gateway.state.withLock { $0.failure = .refused }
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .withdrawn && error?.result == .blocked)
        fixture.gateway.state.withLock { $0.failure = nil }
        let running = Task { await authorization.run() }
        #expect(try await eventually { authorization.state == .authorized })
        try authorization.checkAuthorized()
        authorization.shutdown()
        await running.value
        withExtendedLifetime(fixture) {}
    }

    @Test("After an authorize() that another server has answered, it opens nothing")
    func opensNothingAfterAnError() async throws {
        let (fixture, authorization) = try await restartedAfterItsLease()
        fixture.gateway.state.withLock { $0.failure = LoadError(.serverNotTrusted, at: .serverTLS, "unknown issuer") }
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .authorityMismatch)
        fixture.gateway.state.withLock { $0.failure = nil }
        let epoch = fixture.gateway.state.withLock { $0.configuration.epoch }
        let running = Task { await authorization.run() }
        let report = "\(ControlAPI.Path.storedConfiguration)?stored=\(epoch)"
        #expect(try await eventually { fixture.gateway.sent.contains { $0.target == report } })
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
        authorization.shutdown()
        await running.value
    }

    @Test("A lease that ends while it runs is followed by the next one") func leaseOverWhileRunning() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let away: Int64 = 86_401
        fixture.clock.advance(wall: away, uptime: away)
        let running = Task { await authorization.run() }
        #expect(try await eventually { authorization.state == .locked(.blocked) })
        fixture.gateway.change { document in
            document.iat += away
            document.leaseEnd = document.iat + 3600
        }
        await authorization.confirmAccess()
        #expect(authorization.state == .authorized)
        try authorization.checkAuthorized()
        authorization.shutdown()
        await running.value
        withExtendedLifetime(fixture) {}
    }

    /// The gateway leaves the fetch of `authorize()` without an answer, and answers the one of `run()`.
    @Test("What it fetches opens for an authorize() that is at work") func opensForAuthorize() async throws {
        let (fixture, authorization) = try await restarted { $0.application.config = "new" }
        let (isAsked, mayAnswer, fetches) = (Signal(), Signal(), Lock(0))
        fixture.gateway.state.withLock { state in
            state.holds[ControlAPI.Path.configuration] = {
                let number = fetches.withLock { count -> Int in
                    count += 1
                    return count
                }
                guard number == 1 else { return }
                isAsked.fire()
                await mayAnswer.wait()
            }
        }
        let authorizing = Task { try await authorization.authorize() }
        await isAsked.wait()
        let running = Task { await authorization.run() }
        #expect(try await eventually { authorization.state == .authorized })
        mayAnswer.fire()
        #expect(try await authorizing.value == .authorized)
        authorization.shutdown()
        await running.value
    }

    @Test("A displaced stream stays away for a minute") func replaced() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let event = ControlEvent(.replaced, id: 7).serverSentEvent.serialized
        fixture.gateway.state.withLock { $0.events = [event] }
        async let running: Void = authorization.run()
        #expect(try await eventually { fixture.clock.sleeps.contains(.seconds(60)) })
        authorization.shutdown()
        await running
    }

    @Test("The infrastructure is within reach while the event stream is open") func infrastructure() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let stream = BodyPipe()
        fixture.gateway.state.withLock { $0.stream = stream }
        var changes = authorization.infrastructureChanges().makeAsyncIterator()
        #expect(await changes.next() == .unknown)
        async let running: Void = authorization.run()
        #expect(await changes.next() == .reachable)
        stream.finish(LoadError(.connectionLost, "The gateway is gone."))
        #expect(await changes.next() == .unreachable)
        #expect(authorization.infrastructure == .unreachable)
        authorization.shutdown()
        await running
        #expect(authorization.infrastructure == .unknown)
        #expect(await changes.next() == nil)
    }

    @Test("The lease ends on time while the gateway leaves a renewal without an answer")
    func leaseEndWhileRenewing() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let seen = Lock<[Access]>([])
        let observation = authorization.onAccessChange { change in seen.withLock { $0.append(change.to) } }
        fixture.gateway.state.withLock { $0.silent = [ControlAPI.Path.reenroll] }
        // More than two thirds of a certificate's 7 days.
        fixture.clock.advance(wall: 5 * 86_400, uptime: 5 * 86_400)
        let running = Task { await authorization.run() }
        // The renewal hangs for a minute.
        #expect(
            try await eventually(within: .seconds(20)) {
                seen.withLock { $0.last == .withdrawn(.blocked) } && authorization.state == .locked(.blocked)
                    && fixture.gateway.sent(to: ControlAPI.Path.reenroll).count == 1
            })
        authorization.shutdown()
        await running.value
        withExtendedLifetime(observation) {}
    }

    @Test("Cancelling ends it") func cancelled() async throws {
        let fixture = try Fixture(clock: TestClock(lasts: true))
        let (authorization, _) = try await fixture.activated()
        let task = Task { await authorization.run() }
        task.cancel()
        await task.value
    }
}
