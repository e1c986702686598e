import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthorization

@Suite("Activation") struct ActivationTests {
    @Test("A link makes an identity and authorizes") func activates() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let activation = try await authorization.activate(link: fixture.gateway.link(), version: "1.0")
        #expect(activation.instance == FakeGateway.instance)
        #expect(activation.entitlement == "com.example.test")
        #expect(activation.version == "1.0")
        #expect(activation.state == .authorized)
        #expect(fixture.gateway.sent(to: ControlAPI.Path.configuration).first?.target.hasSuffix("&version=1.0") == true)
    }

    @Test("The first contact carries no secret; the key goes only to the verified authority") func order() async throws
    {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        try await authorization.activate(link: fixture.gateway.link())
        let sent = fixture.gateway.sent
        #expect(sent[0].trust == .anybody && sent[0].headerFields[.authorization] == nil && sent[0].body == nil)
        #expect(sent[1].trust == .authorities([try fixture.gateway.authority.der]))
        #expect(sent[1].headerFields[.authorization]?.hasPrefix("Basic ") == true)
        #expect(sent.dropFirst().allSatisfy { $0.trust != .anybody })
    }

    @Test("Another authority than the link's ends it before the key is sent") func mismatch() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let link = try fixture.gateway.link(fingerprint: [UInt8](repeating: 7, count: 32))
        await #expect { try await authorization.activate(link: link) } throws: {
            ($0 as? AuthorizationError)?.code == .authorityMismatch
        }
        #expect(fixture.gateway.sent.count == 1)
        #expect(authorization.state == .notAuthorized)
    }

    @Test("An unreachable gateway is tried three times, with growing pauses") func unreachable() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        fixture.gateway.state.withLock { $0.unreachable = 3 }
        await #expect { try await authorization.activate(link: fixture.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.result == .noNetwork
        }
        #expect(fixture.gateway.sent.count == 3)
        #expect(fixture.clock.sleeps.count == 2)
        #expect(fixture.clock.sleeps[0] <= .seconds(1) && fixture.clock.sleeps[1] <= .seconds(2))
    }

    @Test("The tries of both requests count together, and the last one begins 10 s before the end")
    func triesAreCounted() {
        let failure = AuthorizationError(.unreachable, .noNetwork, "")
        var tries = ActivationTries(waits: false, since: 100)
        #expect(tries.wait(after: failure, backoff: .seconds(1), at: 108) == .seconds(1))
        #expect(tries.wait(after: failure, backoff: .seconds(2), at: 117) == .seconds(2))
        #expect(tries.wait(after: failure, backoff: .seconds(1), at: 118) == nil)
        var late = ActivationTries(waits: false, since: 100)
        #expect(late.wait(after: failure, backoff: .seconds(1), at: 120) == nil)
        var patient = ActivationTries(waits: true, since: 100)
        for _ in 0..<9 { #expect(patient.wait(after: failure, backoff: .seconds(30), at: 500) == .seconds(30)) }
    }

    @Test("Waiting keeps trying") func waits() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        fixture.gateway.state.withLock { $0.unreachable = 9 }
        let activation = try await authorization.activate(link: fixture.gateway.link(), waits: true)
        #expect(activation.state == .authorized)
    }

    @Test(
        "Refusals and faults have their documented codes",
        arguments: [
            (401, ResultCode.credentialsFailed), (403, .credentialsFailed), (500, .serverCommunicationFailed),
            (503, .serverCommunicationFailed), (404, .provisioningFailed),
            (400, .provisioningFailed), (204, .provisioningFailed),
        ])
    func statuses(status: Int, result: ResultCode) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        fixture.gateway.state.withLock { $0.statuses[ControlAPI.Path.enroll] = status }
        await #expect { try await authorization.activate(link: fixture.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.result == result
        }
        #expect(fixture.gateway.sent(to: ControlAPI.Path.enroll).count == 1)
    }

    private static func busy(_ retryAfter: String?, status: Int = 429) -> ControlAnswer {
        ControlAnswer(status: status, headerFields: retryAfter.map { [.retryAfter: $0] } ?? [:], body: [])
    }

    @Test(
        "A gateway that asks to wait is asked again after as long",
        arguments: [("1", 1), ("7", 7), ("0", 1), ("10", 10)])
    func retryAfter(field: String, seconds: Int) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        fixture.gateway.state.withLock { $0.first[ControlAPI.Path.enroll] = [Self.busy(field), Self.busy(field)] }
        #expect(try await authorization.activate(link: fixture.gateway.link()).state == .authorized)
        #expect(fixture.clock.sleeps == [.seconds(seconds), .seconds(seconds)])
        #expect(fixture.gateway.sent(to: ControlAPI.Path.enroll).count == 3)
    }

    @Test(
        "The wish to wait is followed within bounds",
        arguments: [nil, "11", "-1", "", "1.5", "99999999999999999999", "x"])
    func boundedWait(field: String?) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        fixture.gateway.state.withLock { $0.first[ControlAPI.Path.enroll] = [Self.busy(field)] }
        await #expect { try await authorization.activate(link: fixture.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.result == .serverCommunicationFailed
        }
        #expect(fixture.clock.sleeps.isEmpty)
    }

    @Test("A gateway that asks to wait for ever is given up") func waitsNotForEver() async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let answers = Array(repeating: Self.busy("10"), count: 100)
        fixture.gateway.state.withLock { $0.first[ControlAPI.Path.enroll] = answers }
        await #expect { try await authorization.activate(link: fixture.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.code == .communicationFailed
        }
        #expect(fixture.gateway.sent(to: ControlAPI.Path.enroll).count == 4)
        #expect(fixture.clock.sleeps == Array(repeating: .seconds(10), count: 3))
    }

    @Test("A gateway that is not ready is waited for, 30 s at most", arguments: [("2", 4), ("10", 3)])
    func waitsForOneThatIsNotReady(field: String, waits: Int) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let answers = Array(repeating: Self.busy(field, status: 503), count: 100)
        fixture.gateway.state.withLock { $0.first[ControlAPI.Path.authorities] = Array(answers.prefix(waits)) }
        #expect(try await authorization.activate(link: fixture.gateway.link()).state == .authorized)
        #expect(fixture.clock.sleeps.count == waits)

        let other = try Fixture()
        let never = try await other.authorization(on: other.store())
        other.gateway.state.withLock { $0.first[ControlAPI.Path.enroll] = answers }
        await #expect { try await never.activate(link: other.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.code == .unreachable
        }
        #expect(other.clock.sleeps.count == waits)
    }

    @Test("Waiting keeps trying a gateway that is not ready", arguments: [429, 503])
    func waitsWithoutLimit(status: Int) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let answers = Array(repeating: Self.busy("10", status: status), count: 50)
        fixture.gateway.state.withLock { $0.first[ControlAPI.Path.enroll] = answers }
        let activation = try await authorization.activate(link: fixture.gateway.link(), waits: true)
        #expect(activation.state == .authorized)
        #expect(fixture.clock.sleeps.count == 50)
    }

    @Test(
        "A refused link says why",
        arguments: [
            (403, "keyUsed", AuthorizationError.Code.linkUsed, ResultCode.credentialsFailed),
            (403, "keyExpired", .linkExpired, .credentialsFailed),
            (403, "wrongApplication", .wrongApplication, .appIntegrityFailed),
            (403, "versionNotEntitled", .versionNotEntitled, .appVersionNotEntitled),
            (401, "unauthorized", .credentialsRefused, .credentialsFailed),
            (403, "x", .credentialsRefused, .credentialsFailed),
            (500, "keyUsed", .communicationFailed, .serverCommunicationFailed),
        ])
    func reasons(status: Int, name: String, code: AuthorizationError.Code, result: ResultCode) async throws {
        let fixture = try Fixture()
        let store = try await fixture.store()
        let authorization = try fixture.authorization(on: store)
        let body = try WireJSON.encode(ControlAPI.Failure(code: -602, name: name, message: "SECRET"))
        fixture.gateway.state.withLock {
            $0.first[ControlAPI.Path.enroll] = [ControlAnswer(status: status, body: body)]
        }
        let error = await #expect(throws: AuthorizationError.self) {
            try await authorization.activate(link: fixture.gateway.link())
        }
        #expect(error?.code == code && error?.result == result)
        #expect(error?.message.contains("SECRET") == false)
        #expect(try StoredAuthorization.read(from: store).instance == nil)
    }

    /// So that the gateway refuses another app, or a version to which the user is not entitled, before the link is used.
    @Test("An activation says which app and version it is for")
    func saysItsApplication() async throws {
        for (application, version, query) in [
            (nil, nil, ""), (nil, "1.0", "?version=1.0"), ("2.0", nil, "?entitlement=com.example.test&version=2.0"),
            ("2.0", "1.0", "?entitlement=com.example.test&version=2.0"),
        ] as [(String?, String?, String)] {
            let fixture = try Fixture()
            let identity = try application.map { try ApplicationIdentity("com.example.test", version: $0) }
            let authorization = try fixture.authorization(on: await fixture.store(), application: identity)
            _ = try await authorization.activate(link: fixture.gateway.link(), version: version)
            #expect(fixture.gateway.sent(to: ControlAPI.Path.enroll).map(\.target) == [ControlAPI.Path.enroll + query])
        }
    }

    @Test("A cut-short activation goes on with the stored key") func resumes() async throws {
        let fixture = try Fixture()
        let store = try await fixture.store()
        let first = try fixture.authorization(on: store)
        fixture.gateway.state.withLock { $0.statuses[ControlAPI.Path.enroll] = 500 }
        _ = try? await first.activate(link: fixture.gateway.link())
        fixture.gateway.state.withLock { $0.statuses = [:] }
        try await fixture.authorization(on: store).activate(link: fixture.gateway.link())
        let requests = fixture.gateway.sent(to: ControlAPI.Path.enroll)
        let keys = try requests.map { try TestRequest(ESTBody.decode($0.body ?? [])).publicKey }
        #expect(keys.count == 2 && keys[0] == keys[1])
    }

    @Test("Another application's store is refused before any traffic") func wrongApplication() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        let count = fixture.gateway.sent.count
        #expect {
            try fixture.authorization(on: store, application: ApplicationIdentity("com.other", version: "1"))
        } throws: { ($0 as? AuthorizationError)?.code == .wrongApplication }
        #expect(fixture.gateway.sent.count == count)
        #expect(try StoredAuthorization.read(from: store, clock: fixture.clock).state == .authorized)
    }

    @Test("A new instance has no local blocks, before a restart as after one") func withoutBlocks() async throws {
        let fixture = try Fixture()
        let store = try await fixture.store()
        let authorization = try fixture.authorization(on: store)
        try await authorization.executeBlock(id: "a", title: "Stop", message: "Stopped.")
        try await authorization.activate(link: fixture.gateway.link())
        #expect(authorization.localBlocks.isEmpty)
        #expect(try fixture.authorization(on: store).localBlocks.isEmpty)
    }

    @Test("Links of another form are refused", arguments: ["", "https://example.com", "sallyport://h:1/?ca=AA"])
    func badLinks(link: String) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        await #expect { try await authorization.activate(link: link) } throws: {
            ($0 as? AuthorizationError)?.code == .invalidLink
        }
        #expect(fixture.gateway.sent.isEmpty)
    }

    @Test("Of two activations at once, one is refused and changes nothing") func activatingAlready() async throws {
        let fixture = try Fixture()
        let authorization = try fixture.authorization(on: await fixture.store())
        let link = try fixture.gateway.link()
        let codes = await withTaskGroup(of: AuthorizationError.Code?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do {
                        _ = try await authorization.activate(link: link)
                        return nil
                    } catch { return (error as? AuthorizationError)?.code }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1 && codes.contains(.alreadyActivated), "\(codes)")
        #expect(authorization.state == .authorized)
    }

    @Test("A second activation of a store is refused") func alreadyActivated() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        await #expect { try await authorization.activate(link: fixture.gateway.link()) } throws: {
            ($0 as? AuthorizationError)?.code == .alreadyActivated
        }
    }
}
