import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthorization

@Suite("Authorization") struct AuthorizationTests {
    private let server: Endpoint

    init() throws { server = try Endpoint("app.example:443") }

    @Test("Before authorization nothing is open") func closed() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        #expect(throws: AccessDenied(.notAuthorized)) { try authorization.access(to: server) }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.code == .notActivated
        }
    }

    @Test("Without the gateway the stored configuration counts, until its lease is over") func lease() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.failure = .refused }
        let authorization = try fixture.authorization(on: store)
        try await authorization.authorize()
        #expect(try authorization.access(to: server).decision.route == .direct)
        fixture.clock.advance(wall: 86_401)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.result == .blocked
        }
        #expect(authorization.state == .locked(.blocked))
    }

    @Test("An app that fetched too often fetches once more, and is not withdrawn") func tooManyFetches() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.statuses[ControlAPI.Path.configuration] = 429 }
        let before = fixture.gateway.sent(to: ControlAPI.Path.configuration).count
        try await authorization.authorize()
        #expect(authorization.state == .authorized)
        #expect(fixture.gateway.sent(to: ControlAPI.Path.configuration).count == before + 2)
        #expect(fixture.clock.sleeps.last == .seconds(1))
        // Even if only what is stored is known after the restart.
        let restarted = try fixture.authorization(on: store)
        try await restarted.authorize()
        #expect(try restarted.access(to: server).decision.route == .direct)
    }

    @Test("What a backup says counts only after the gateway's word") func restored() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        _ = try await store.backup(to: "\(fixture.path)/backup")
        store.close()
        _ = try await SecureStore.restore(
            from: "\(fixture.path)/backup", to: "\(fixture.path)/store", protectedBy: .keyFile("\(fixture.path)/key"))
        let restored = try await fixture.store()
        let authorization = try fixture.authorization(on: restored)
        fixture.gateway.state.withLock { $0.failure = .refused }
        await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(throws: AccessDenied(.notAuthorized)) { try authorization.checkAuthorized() }
        fixture.gateway.state.withLock { $0.failure = nil }
        try await authorization.authorize()
        try authorization.checkAuthorized()
        // From then on its lease counts again.
        fixture.gateway.state.withLock { $0.failure = .refused }
        try await fixture.authorization(on: restored).authorize()
    }

    @Test("Turning the wall clock back gains nothing while the machine runs") func clockTurnedBack() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.clock.advance(wall: -86_400, uptime: 86_401)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
    }

    @Test("A lower epoch, and an equal one with other content, change nothing", arguments: [-1, 0] as [Int64])
    func epochs(change: Int64) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { state in
            state.configuration.epoch += change
            state.configuration.defaultRoute.route = .relay
        }
        try await authorization.authorize()
        #expect(try authorization.access(to: server).decision.route == .direct)
    }

    @Test("A known epoch survives a restart") func epochAfterRestart() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        fixture.gateway.state.withLock { state in
            state.configuration.epoch -= 1
            state.configuration.application.config = "old"
        }
        let authorization = try fixture.authorization(on: store)
        try await authorization.authorize()
        #expect(authorization.configuration.application?.config == "")
    }

    @Test("What is not the gateway's signed word for this instance is refused", arguments: Forgery.allCases)
    func forgeries(forgery: Forgery) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.change { $0.application.config = "forged" }
        let forged = try forgery.make(fixture.gateway)
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.configuration] = forged }
        try await authorization.authorize()
        #expect(authorization.configuration.application?.config == "")
    }

    enum Forgery: CaseIterable {
        case otherAuthority, otherUsage, client, expiredSigner, laterSigner, otherInstance, otherType, brokenSignature,
            garbage, empty

        func make(_ gateway: FakeGateway) throws -> [UInt8] {
            var document = gateway.state.withLock { $0.configuration }
            switch self {
            case .otherAuthority: return try gateway.signed(document, by: TestAuthority().signer())
            case .otherUsage:
                let usage = ObjectIdentifiers.authorityEndorsement
                return try gateway.signed(document, by: gateway.authority.signer(usage: usage))
            case .client: return try gateway.signed(document, by: gateway.authority.client())
            case .expiredSigner:
                return try gateway.signed(document, by: gateway.authority.signer(validity: -7200 ... -3600))
            case .laterSigner:
                return try gateway.signed(document, by: gateway.authority.signer(validity: 3600...172_800))
            case .otherInstance:
                document.aud = InstanceIdentifier()
                return try gateway.signed(document)
            case .otherType: return try gateway.signed(document, type: "sallyport-token+jwt")
            case .brokenSignature:
                var text = try gateway.signed(document)
                text[text.count - 20] =
                    text[text.count - 20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                return text
            case .garbage: return Array("a.b.c".utf8)
            case .empty: return []
            }
        }
    }

    @Test(
        "Withdrawals have their state and code",
        arguments: [
            (ConfigurationDocument.Status.blocked, ResultCode.blocked, AuthorizationState.locked(.blocked)),
            (.locked, .remoteLockout, .locked(.remoteLockout)),
            (.locked, .appVersionNotEntitled, .locked(.appVersionNotEntitled)),
            (.blocked, .appDenied, .locked(.blocked)),
            (.wiped, .wiped, .wiped(.wiped)),
            (.denied, .appDenied, .wiped(.appDenied)),
        ])
    func withdrawals(status: ConfigurationDocument.Status, code: ResultCode, state: AuthorizationState) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let seen = Lock<[ResultCode]>([])
        let observation = authorization.onAccessChange { change in
            if let denied = change.ending { seen.withLock { $0.append(denied.code) } }
        }
        fixture.gateway.change { document in
            document.status = status
            document.code = code
        }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.result == state.code
        }
        #expect(authorization.state == state)
        #expect(throws: AccessDenied(.withdrawn, code: state.code)) { try authorization.access(to: server) }
        #expect(seen.withLock { $0 } == [state.code])
        withExtendedLifetime(observation) {}
    }

    @Test("What withdraws access is told, with the versions that the user has")
    func reasons() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        fixture.gateway.change { document in
            document.status = .locked
            document.code = .appVersionNotEntitled
            let id = document.entitlement.id
            let versions = ["1.2", "1.3", "2.0"].compactMap(EntitlementVersion.init)
            document.entitlement = .init(id: id, version: versions[2])
            document.entitlements = [.init(id: id, versions: Array(versions.prefix(2)))]
        }
        await #expect { try await authorization.authorize() } throws: {
            let reason = "The user is not entitled to version 2.0 of the app, but to 1.2, 1.3."
            return ($0 as? AuthorizationError)?.message == reason
        }
        // What is shown and what the doctor asks for is the version that was judged.
        let stored = try StoredAuthorization.read(from: store, clock: fixture.clock)
        #expect(stored.version == "2.0" && stored.contact?.question.target.hasSuffix("?version=2.0") == true)
        fixture.gateway.change { document in
            document.status = .blocked
            document.code = .blocked
        }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.message == "The instance is blocked."
        }
    }

    @Test("Observers hear of every withdrawal, of one that grows, and of what comes after a stored one")
    func observers() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let seen = Lock<[Access]>([])
        let observation = authorization.onAccessChange { change in seen.withLock { $0.append(change.to) } }
        func report(_ status: ConfigurationDocument.Status, _ code: ResultCode) async {
            fixture.gateway.change { document in
                document.status = status
                document.code = code
            }
            _ = try? await authorization.authorize()
        }
        await report(.blocked, .blocked)
        await report(.active, .none)
        await report(.blocked, .blocked)
        await report(.locked, .remoteLockout)
        #expect(
            seen.withLock { $0 } == [
                .open(revision: 1), .withdrawn(.blocked), .open(revision: 2), .withdrawn(.blocked),
                .withdrawn(.remoteLockout),
            ])
        let again = try fixture.authorization(on: store)
        let later = Lock<[Access]>([])
        let second = again.onAccessChange { change in later.withLock { $0.append(change.to) } }
        await #expect(throws: AuthorizationError.self) { try await again.authorize() }
        fixture.gateway.change { $0.status = .wiped }
        _ = try? await again.authorize()
        #expect(later.withLock { $0 } == [.withdrawn(.remoteLockout), .withdrawn(.wiped)])
        withExtendedLifetime((observation, second)) {}
    }

    @Test("The first question after the lease's end tells the observers, even if run() is not called")
    func leaseEnd() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let seen = Lock<[Access]>([])
        let observation = authorization.onAccessChange { change in seen.withLock { $0.append(change.to) } }
        fixture.clock.advance(wall: 400 * 86_400, uptime: 400 * 86_400)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
        #expect(seen.withLock { $0 } == [.open(revision: 1), .withdrawn(.blocked)])
        withExtendedLifetime(observation) {}
    }

    @Test("A lease that the administrator has shortened ends on its last second")
    func shorterLease() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.change { $0.leaseEnd = $0.iat + 300 }
        try await authorization.authorize()
        let signed = fixture.gateway.state.withLock { $0.configuration.iat }
        let left = signed + 300 - fixture.clock.wall
        fixture.clock.advance(wall: left - 1, uptime: left - 1)
        try authorization.checkAuthorized()
        fixture.clock.advance(wall: 1, uptime: 1)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
    }

    @Test("A wipe leaves nothing in the store, and no identity in use") func wipe() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        fixture.gateway.change { document in
            document.status = .wiped
            document.code = .wiped
        }
        _ = try? await authorization.authorize()
        #expect(throws: (any Error).self) { try StoredAuthorization.read(from: store) }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.code == .notActivated
        }
        // There is nothing left to lock.
        try await authorization.executeRemoteLock()
        #expect(authorization.state == .wiped(.wiped))
        #expect(throws: AccessDenied(.withdrawn, code: .wiped)) { try authorization.checkAuthorized() }
    }

    @Test("A lifted block opens again, and the app hears of both") func lifted() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        var events = authorization.events.makeAsyncIterator()
        fixture.gateway.change { document in
            document.status = .blocked
            document.code = .blocked
        }
        _ = try? await authorization.authorize()
        fixture.gateway.change { document in
            document.status = .active
            document.code = .none
        }
        try await authorization.authorize()
        #expect(await events.next()?.code == .blocked)
        #expect(await events.next()?.kind == .authorized)
        try authorization.checkAuthorized()
    }

    @Test("A stored withdrawal holds from the start") func storedWithdrawal() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        try await authorization.executeRemoteLock()
        let again = try fixture.authorization(on: store)
        #expect(again.state == .locked(.remoteLockout))
        #expect(throws: AccessDenied(.withdrawn, code: .remoteLockout)) { try again.checkAuthorized() }
    }

    @Test(
        "A local lock goes only with the console's lock, whatever its reason, and unlock",
        arguments: [ResultCode.remoteLockout, .idleLockout, .passwordChangeRequired])
    func localLock(reason: ResultCode) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try await authorization.executeRemoteLock()
        _ = try? await authorization.authorize()
        #expect(authorization.state == .locked(.remoteLockout))
        await say(.locked, reason, to: authorization, through: fixture.gateway)
        await say(.active, .none, to: authorization, through: fixture.gateway)
        #expect(authorization.state == .authorized)
    }

    @Test(
        "A local lock during the console's lock goes with the unlock",
        arguments: [ResultCode.remoteLockout, .idleLockout, .passwordChangeRequired])
    func localLockWhileLocked(reason: ResultCode) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        await say(.locked, reason, to: authorization, through: fixture.gateway)
        try await authorization.executeRemoteLock()
        await say(.active, .none, to: authorization, through: fixture.gateway)
        #expect(authorization.state == .authorized)
    }

    @Test("A local lock stays when the user is entitled to the version again") func localLockAndVersion() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try await authorization.executeRemoteLock()
        await say(.locked, .appVersionNotEntitled, to: authorization, through: fixture.gateway)
        await say(.active, .none, to: authorization, through: fixture.gateway)
        #expect(authorization.state == .locked(.remoteLockout))
    }

    /// The app fetches what the administrator has decided.
    private func say(
        _ status: ConfigurationDocument.Status, _ code: ResultCode, to authorization: Authorization,
        through gateway: FakeGateway
    ) async {
        gateway.change { document in
            document.status = status
            document.code = code
        }
        _ = try? await authorization.authorize()
    }

    @Test("A local block tells the app, survives a restart and closes nothing") func localBlock() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        var events = authorization.events.makeAsyncIterator()
        try await authorization.executeBlock(id: "a", title: "Stop", message: "Stopped.")
        #expect(await events.next() == AuthorizationEvent(kind: .notAuthorized, code: .blocked, message: "Stopped."))
        try authorization.checkAuthorized()
        #expect(try fixture.authorization(on: store).localBlocks.map(\.id) == ["a"])
        try await authorization.executeUnblock(id: "a")
        #expect(await events.next()?.kind == .authorized)
    }

    @Test("A cluster that is not there relays nothing and never becomes direct") func missingCluster() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.change { $0.defaultRoute.route = .relay }
        try await authorization.authorize()
        #expect { try authorization.access(to: server) } throws: {
            if case .denied = ($0 as? AccessDenied)?.reason { true } else { false }
        }
    }

    @Test("A relayed server gets its cluster, this identity and the TLS limits") func relayed() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let relay = RelayAccess.Relay(try Endpoint("relay.example:17533"), priority: 1)
        let authority = try fixture.gateway.authority.der
        fixture.gateway.change { document in
            document.defaultRoute.route = .relay
            document.clusters = [.init(name: "main", relays: [relay], authorities: [authority])]
            document.tls = .init(blocked: [.tls10], floor: .tls12)
        }
        try await authorization.authorize()
        let access = try authorization.access(to: server)
        #expect(access.relay?.relays == [relay] && access.relay?.authorities == [authority])
        #expect(access.relay?.identity == fixture.gateway.sent.last?.identity)
        #expect(access.blockedTLSVersions == [.tls10] && access.tlsFloor == .tls12)
        #expect(try authorization.explain("https://app.example/?q=secret").cluster == "main")
        #expect(try authorization.explain("https://app.example/?q=secret").url == "https://app.example/")
    }

    @Test("Only the schemes of the configuration are allowed, and none without one") func schemes() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        let authorization = try fixture.authorization(on: store)
        fixture.gateway.change { $0.schemes = ["digest", "negotiate"] }
        #expect(!authorization.allows(.digest) && !authorization.allows(AuthenticationMethod("own")))
        try await authorization.authorize()
        #expect(authorization.allows(.digest) && authorization.allows(AuthenticationMethod("Negotiate")))
        #expect(!authorization.allows(.basic) && !authorization.allows(.ntlm))
        #expect(authorization.allows(AuthenticationMethod("own")), "a scheme of the app's is its own affair")
    }

    @Test("An expired certificate is renewed with another key before anything else") func renewal() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.sent = [] }
        fixture.clock.advance(wall: 8 * 86_400)
        let authorization = try fixture.authorization(on: store)
        _ = try? await authorization.authorize()
        #expect(fixture.gateway.sent.first?.target == ControlAPI.Path.reenroll)
        #expect(fixture.gateway.sent.last?.identity != fixture.gateway.sent.first?.identity)
        #expect(fixture.gateway.state.withLock { $0.retired } == 1)
    }

    @Test("Calls that find the certificate expired at the same time renew it once", .timeLimit(.minutes(1)))
    func oneRenewal() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.clock.advance(wall: 8 * 86_400)
        fixture.gateway.state.withLock { state in
            state.sent = []
            state.holds[ControlAPI.Path.reenroll] = {
                while await authorization.renewalTurns.waitingCount < 3 { try? await Task.sleep(for: .milliseconds(1)) }
            }
        }
        await withDiscardingTaskGroup { group in
            for _ in 0..<4 { group.addTask { try? await authorization.renewIdentityIfExpired() } }
        }
        #expect(fixture.gateway.sent(to: ControlAPI.Path.reenroll).count == 1)
        // It has the authorization, which has the gateway.
        fixture.gateway.state.withLock { $0.holds = [:] }
    }

    @Test("An expired certificate that is not renewed may be that of a wiped instance") func wipedWhileAway()
        async throws
    {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.clock.advance(wall: 8 * 86_400)
        fixture.gateway.state.withLock { $0.statuses[ControlAPI.Path.reenroll] = 403 }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.code == .credentialsRefused
        }
        fixture.gateway.change {
            $0.iat += 8 * 86_400
            $0.leaseEnd += 8 * 86_400
            $0.status = .wiped
            $0.code = .wiped
        }
        let signer = try fixture.gateway.authority.signer(validity: -3600...(30 * 86_400))
        let text = try fixture.gateway.signed(fixture.gateway.state.withLock { $0.configuration }, by: signer)
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.configuration] = text }
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.code == .withdrawn && ($0 as? AuthorizationError)?.result == .wiped
        }
        #expect(authorization.state == .wiped(.wiped))
    }

    @Test("With a stored configuration, renewal and fetching have 5 s together") func patience() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        let authorization = try fixture.authorization(on: store)
        fixture.gateway.state.withLock { $0.sent = [] }
        fixture.clock.advance(wall: 8 * 86_400)
        _ = try? await authorization.authorize()
        #expect(!fixture.gateway.sent.isEmpty && fixture.gateway.sent.allSatisfy { $0.timeout <= .seconds(5) })
        // The gateway asks to wait for longer than that.
        fixture.gateway.state.withLock { state in
            state.first[ControlAPI.Path.configuration] = [
                ControlAnswer(status: 429, headerFields: [.retryAfter: "9"], body: [])
            ]
        }
        let sleeps = fixture.clock.sleeps.count
        _ = try? await authorization.authorize()
        #expect(fixture.clock.sleeps.count == sleeps)
    }

    @Test("More than 30 days later only a new activation helps") func tooLate() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.sent = [] }
        fixture.clock.advance(wall: 38 * 86_400)
        let authorization = try fixture.authorization(on: store)
        await #expect { try await authorization.authorize() } throws: {
            ($0 as? AuthorizationError)?.code == .identityExpired
        }
        #expect(fixture.gateway.sent.isEmpty)
    }

    @Test("The store alone says state, lease and routes") func stored() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let stored = try StoredAuthorization.read(from: store, clock: fixture.clock)
        #expect(stored.state == .authorized && stored.code == .none)
        #expect(stored.epoch == authorization.configuration.epoch && stored.leaseEnd != nil)
        #expect(stored.gateway == "gateway.example:17433" && stored.user == "alice" && stored.version == "1.0")
        #expect(try stored.explain("http://app.example").rule == "default")
    }
}
