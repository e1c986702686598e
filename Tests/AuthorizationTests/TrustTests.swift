import Crypto
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportWire
import SwiftASN1
import TestSupport
import Testing

/// Which authorities and signers an app trusts: authorities that replace each other, and signers that are revoked.
@Suite struct TrustTests {
    private let path = ControlAPI.Path.configuration

    /// Has the gateway answer with a configuration signed by a signer of the test's choice.
    private func say(
        _ gateway: FakeGateway, _ config: String, by signer: TestIdentity,
        _ change: (inout ConfigurationDocument) throws -> Void = { _ in }
    ) throws {
        var document = gateway.state.withLock { state in
            state.configuration.epoch += 1
            return state.configuration
        }
        document.application.config = config
        try change(&document)
        let text = try gateway.signed(document, by: signer)
        gateway.state.withLock { $0.bodies[path] = text }
    }

    private func told(_ authorization: Authorization) async -> String? {
        _ = try? await authorization.authorize()
        return authorization.configuration.application?.config
    }

    // MARK: Signers

    @Test func aSignerOfARevokedGenerationIsRefused() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let (leaked, next) = (fixture.gateway.signer, try fixture.gateway.authority.signer(generation: 2))
        try say(fixture.gateway, "revoked", by: next) { $0.trust.signers = 2 }
        #expect(await told(authorization) == "revoked")
        for signers in [1, 2, 3] as [Int64] {
            try say(fixture.gateway, "forged", by: leaked) { $0.trust.signers = signers }
            #expect(await told(authorization) == "revoked")
        }
        // After a restart too, and even if the new signer itself would allow the old one again.
        try say(fixture.gateway, "forged", by: leaked)
        #expect(await told(try fixture.authorization(on: store)) == "revoked")
        try say(fixture.gateway, "lowered", by: next) { $0.trust.signers = 1 }
        #expect(await told(authorization) == "revoked")
        try say(fixture.gateway, "goes on", by: next) { $0.trust.signers = 2 }
        #expect(await told(authorization) == "goes on")
    }

    @Test func aSignerCannotOutbidItsCertificate() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) { $0.trust.signers = 2 }
        #expect(await told(authorization) == "")
        try say(fixture.gateway, "true", by: fixture.gateway.signer)
        #expect(await told(authorization) == "true")
    }

    @Test func noLeaseOutlastsItsSignersCertificate() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) { $0.leaseEnd += 86_460 }
        #expect(await told(authorization) == "")
    }

    @Test(arguments: [299, 604_801, 0, -86_400] as [Int64])
    func aLeaseOutsideOfItsLimitsIsRefused(seconds: Int64) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let long = try fixture.gateway.authority.signer(validity: -3600...7_776_000)
        try say(fixture.gateway, "forged", by: long) { $0.leaseEnd = $0.iat + seconds }
        #expect(await told(authorization) == "")
        for seconds: Int64 in [300, 604_800] {
            try say(fixture.gateway, "lease \(seconds)", by: long) { $0.leaseEnd = $0.iat + seconds }
            #expect(await told(authorization) == "lease \(seconds)")
        }
    }

    @Test func aSignerWithoutAGenerationIsNone() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try say(fixture.gateway, "forged", by: fixture.gateway.authority.signer(generation: nil))
        #expect(await told(authorization) == "")
    }

    @Test func configurationsOfALeakedSignerDoNotOutliveItsRevocation() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let epoch = fixture.gateway.state.withLock { $0.configuration.epoch }
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) { document in
            (document.epoch, document.leaseEnd) = (1 << 53, document.leaseEnd + 80_000)
        }
        #expect(await told(authorization) == "forged")
        let next = try fixture.gateway.authority.signer(generation: 2)
        try say(fixture.gateway, "true", by: next) { document in
            (document.epoch, document.trust.signers) = (epoch + 10, 2)
        }
        #expect(await told(authorization) == "true")
        #expect(authorization.state == .authorized)
        #expect(try fixture.authorization(on: store).configuration.application?.config == "true")
    }

    // MARK: Authorities

    @Test func anAuthorityThatTheKnownOneEndorsesTakesItsPlace() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let (old, new) = (fixture.gateway.authority, try TestAuthority(name: "Next"))
        try say(fixture.gateway, "announced", by: fixture.gateway.signer) { document in
            document.trust.authorities = [try old.der, try new.der]
            document.trust.endorsements = [try old.endorsement(of: new)]
        }
        #expect(await told(authorization) == "announced")
        #expect(try fixture.gateway.sent.last?.trust == .authorities([old.der, new.der]))
        try say(fixture.gateway, "in force", by: new.signer()) { $0.trust.authorities = [try new.der] }
        // A restart in between, as for an app that was offline.
        let again = try fixture.authorization(on: store)
        #expect(await told(again) == "in force")
        #expect(try fixture.gateway.sent.last?.trust == .authorities([new.der]))
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) {
            $0.trust.authorities = [try old.der, try new.der]
        }
        #expect(await told(again) == "in force")
        #expect(try fixture.authorization(on: store).configuration.application?.config == "in force")
    }

    @Test("No signer can add an authority", arguments: Endorsement.allCases)
    func unendorsed(_ endorsement: Endorsement) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let (old, new) = (fixture.gateway.authority, try TestAuthority(name: "Next"))
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) { document in
            document.trust.authorities = [try old.der, try new.der]
            document.trust.endorsements = try endorsement.make(of: new, by: old)
        }
        #expect(await told(authorization) == "")
        #expect(try fixture.gateway.sent.last?.trust == .authorities([old.der]))
    }

    enum Endorsement: CaseIterable {
        case none, own, ofAnother, signersCertificate, expired, garbage

        func make(of new: TestAuthority, by old: TestAuthority) throws -> [[UInt8]] {
            switch self {
            case .none: []
            case .own: [try new.endorsement(of: new)]
            case .ofAnother: [try old.endorsement(of: TestAuthority())]
            case .signersCertificate:
                [try old.endorsement(of: new, usage: ObjectIdentifiers.configurationSigning)]
            case .expired: [try old.endorsement(of: new, validity: -7200 ... -3600)]
            case .garbage: [[1, 2, 3]]
            }
        }
    }

    @Test func aSignerCannotGiveUpTheAuthorityBehindIt() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let (old, new) = (fixture.gateway.authority, try TestAuthority(name: "Next"))
        try say(fixture.gateway, "forged", by: fixture.gateway.signer) { document in
            document.trust.authorities = [try new.der]
            document.trust.endorsements = [try old.endorsement(of: new)]
        }
        #expect(await told(authorization) == "")
    }

    @Test func aRenewalKeepsWhatConfigurationsSaidOfTrust() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let (old, new) = (fixture.gateway.authority, try TestAuthority(name: "Next"))
        let trust = ConfigurationDocument.Trust(
            authorities: [try old.der, try new.der], endorsements: [try old.endorsement(of: new)])
        fixture.gateway.change { $0.trust = trust }
        try await authorization.authorize()
        fixture.clock.advance(wall: 8 * 86_400)
        _ = try? await authorization.authorize()
        #expect(fixture.gateway.state.withLock { $0.retired } == 1)
        _ = try? await fixture.authorization(on: store).authorize()
        #expect(fixture.gateway.sent.last?.trust == .authorities(trust.authorities))
    }

    // MARK: Offline

    @Test func anAppThatWasAwayIsToldOnceTheLeaseIsOver() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { $0.failure = LoadError(.serverNotTrusted, at: .serverTLS, "unknown issuer") }
        // The answer may come from any other server, so it does not end the lease.
        try await authorization.authorize()
        fixture.clock.advance(wall: 86_401)
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .authorityMismatch)
        #expect(throws: AccessDenied(.withdrawn, code: .blocked)) { try authorization.checkAuthorized() }
    }

    @Test func aClockThatIsWrongIsNoOtherAuthority() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        fixture.gateway.state.withLock { state in
            state.failure = LoadError(.serverNotTrusted, at: .serverTLS, "certificate is not yet valid")
        }
        fixture.clock.advance(wall: 86_401)
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.code == .withdrawn)
    }
}
