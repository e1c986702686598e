import Crypto
import Foundation
import SallyportCore
import SallyportWire
import SwiftASN1
import Testing
import X509

@testable import SallyportGateway

/// Rotation of the authority and revocation of the signer, as ``GatewayData`` does them.
@Suite struct AuthorityTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    private var entry: AuthorityEntry {
        get async throws {
            guard case .authority(let entry) = await fixture.data.perform(.authority(.status)) else {
                throw GatewayError(.invalid, "no status")
            }
            return entry
        }
    }

    private func perform(_ action: AuthorityAction) async throws -> AuthorityEntry {
        switch await fixture.data.perform(.authority(action)) {
        case .authority(let entry): return entry
        case .failure(let failure): throw failure
        default: throw GatewayError(.invalid, "another answer")
        }
    }

    private func expect(_ name: String, of action: AuthorityAction) async {
        let failure = await #expect(throws: AdministrationReply.Failure.self) { try await perform(action) }
        #expect(failure?.name == name)
    }

    /// Fetches the configuration, and reports that it was stored.
    @discardableResult
    private func fetched(_ presented: PresentedCertificate) async throws -> ConfigurationDocument {
        let document = try await fixture.document(presented)
        _ = try await fixture.data.standing(ofStoreWith: document.epoch, told: nil, of: presented)
        return document
    }

    @Test func theNextAuthorityIsAnnouncedByThePresentOne() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let before = try await entry
        #expect(try await fetched(presented).trust.authorities.count == 1)
        let announced = try await perform(.rotate)
        #expect(announced.present == before.present && announced.signer == before.signer)
        #expect(announced.next?.waiting == 1)
        let trust = try await fetched(presented).trust
        #expect(trust.authorities.count == 2 && trust.endorsements.count == 1)
        #expect(try await entry.next?.waiting == 0)
        await expect("exists", of: .rotate)
        // Links still name the authority in force.
        #expect(try await Base64URL.encode(fixture.link().authorityFingerprint) == before.present.fingerprint)
    }

    @Test func anInstanceThatHasNotHeardOfItIsNotLostUnasked() async throws {
        await expect("invalid", of: .finish(confirmed: true))
        let heard = try await fixture.enroll(fixture.link(), DataFixture.request())
        let away = try await fixture.enroll(fixture.link(), DataFixture.request())
        _ = try await perform(.rotate)
        try await fetched(heard)
        // A signed configuration does not count as received: the answer may have been lost.
        _ = try await fixture.document(away)
        let failure = await #expect(throws: AdministrationReply.Failure.self) {
            try await perform(.finish(confirmed: false))
        }
        #expect(failure?.name == "needsConfirmation")
        #expect(failure?.message.contains(away.name.instance.description) == true)
        #expect(failure?.message.contains(heard.name.instance.description) == false)
        #expect(try await entry.next != nil)
        try await fetched(away)
        let finished = try await perform(.finish(confirmed: false))
        #expect(finished.next == nil && finished.former.count == 1)
    }

    /// The store could not say which configurations were signed before the announcement.
    @Test func untilItIsKnownWhichConfigurationsNameTheAuthorityNoInstanceCountsAsTold() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let (store, data) = try await fixture.faulty()
        store.failAfterRevision()
        _ = await data.perform(.authority(.rotate))
        try await fixture.data.catchUp()
        try await fetched(presented)
        #expect(try await entry.next?.waiting == 1)
        await expect("needsConfirmation", of: .finish(confirmed: false))
        try await fetched(presented)
        #expect(try await perform(.finish(confirmed: false)).next == nil)
    }

    @Test func anAnnouncementWhoseEpochIsNotKnownGetsItFromTheUpkeep() async throws {
        let (store, data) = try await fixture.faulty()
        store.failAfterRevision()
        _ = await data.perform(.authority(.rotate))
        try await fixture.data.catchUp()
        #expect(await fixture.data.authorities.record.next?.epoch == AuthorityRecord.Next.unbounded)
        try await fixture.data.renewOwnCertificates()
        #expect(await fixture.data.authorities.record.next?.epoch == 0)
    }

    @Test func theNewAuthorityIssuesEverythingAndTheOldOnesCertificatesAreGood() async throws {
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let next = try await perform(.rotate).next
        let before = try await entry
        let finished = try await perform(.finish(confirmed: true))
        #expect(finished.present == next?.certificate && finished.former.map(\.certificate) == [before.present])
        #expect(finished.signer != before.signer && finished.server != before.server)
        #expect(finished.signers == before.signers)
        #expect(try await Base64URL.encode(fixture.link().authorityFingerprint) == finished.present.fingerprint)
        #expect(try await fetched(old).trust.authorities == [fixture.data.authorityDER])
        let renewed = try await fixture.data.presented(fixture.data.reenroll(old, request: DataFixture.request())[0])
        #expect(renewed.authority != old.authority && renewed.name == old.name)
        #expect(try await fetched(renewed).status == .active)
        let again = try await fixture.restarted()
        #expect(await again.authorityEntry == finished)
    }

    @Test func aCertificateOfAnAuthorityThatIsOnlyAnnouncedIsRefused() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        _ = try await perform(.rotate)
        let next = try CertificateAuthority(#require(await fixture.data.authorities.record.next).identity)
        let key = Certificate.PublicKey(P256.Signing.PrivateKey().publicKey)
        let early = try next.instance(presented.name, key: key, now: Date())
        await #expect(throws: GatewayError.self) { try await fixture.data.presented(early) }
    }

    @Test func timePutsItInForceAndGivesUpTheOldOne() async throws {
        _ = try await perform(.rotate)
        fixture.advance(AuthorityRecord.overlap - 60)
        try await fixture.data.renewOwnCertificates()
        #expect(try await entry.next != nil)
        fixture.advance(60)
        try await fixture.data.renewOwnCertificates()
        #expect(try await entry.next == nil)
        #expect(try await entry.former.count == 1)
        fixture.advance(AuthorityRecord.overlap)
        try await fixture.data.renewOwnCertificates()
        #expect(try await entry.former.isEmpty)
    }

    @Test func aFormerAuthorityIsAcceptedForItsTimeOnly() async throws {
        let old = try await fixture.enrolled()
        _ = try await perform(.rotate)
        _ = try await perform(.finish(confirmed: true))
        _ = try await fixture.data.presented(old)
        fixture.advance(AuthorityRecord.overlap)
        await #expect(throws: GatewayError.self) { try await fixture.data.presented(old) }
    }

    @Test func aRevocationBeginsAnotherGeneration() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let before = try await entry
        #expect(try await fetched(presented).trust.signers == 1)
        let revoked = try await perform(.revoke(confirmed: false))
        #expect(revoked.signers == 2 && revoked.signer != before.signer && revoked.server != before.server)
        #expect(revoked.present == before.present)
        let text = try await fixture.data.configuration(for: presented, version: nil)
        let signed = try JWS(Array(text.utf8), type: ConfigurationDocument.type)
        #expect(try ConfigurationDocument(parsing: signed.payload).trust.signers == 2)
        #expect(try generation(of: #require(signed.header.certificates.first)) == 2)
        // An automatic renewal stays in its generation.
        fixture.advance(80 * 86_400)
        try await fixture.data.renewOwnCertificates()
        #expect(try await generation(of: fixture.data.signer.certificate) == 2)
    }

    @Test(arguments: [true, false]) func aRenewalThatWasUnderWayTakesNothingBack(_ isRotation: Bool) async throws {
        let before = await fixture.data.authorities
        let late = try OwnIdentities(host: "localhost", under: before, at: fixture.now)
        if isRotation {
            _ = try await perform(.rotate)
            _ = try await perform(.finish(confirmed: true))
        } else {
            _ = try await perform(.revoke(confirmed: true))
        }
        let present = await fixture.data.identities
        try await fixture.data.keep(late)
        #expect(await fixture.data.identities == present)
        let again = try await fixture.restarted()
        #expect(await again.identities == present)
    }

    @Test func aRevocationGivesUpFormerAuthorities() async throws {
        let old = try await fixture.enrolled()
        try await fixture.perform(.addServer(.init(endpoint: "in.example:443")))
        _ = try await perform(.rotate)
        _ = try await perform(.finish(confirmed: true))
        let policy = await fixture.data.currentState()
        let client = try #require(policy.client(presenting: old))
        guard case .allowed = try client.decide(Endpoint("in.example:443")) else {
            Issue.record("a former authority's certificate is good")
            return
        }
        await expect("needsConfirmation", of: .revoke(confirmed: false))
        _ = try await fixture.data.presented(old)
        _ = try await perform(.revoke(confirmed: true))
        await #expect(throws: GatewayError.self) { try await fixture.data.presented(old) }
        #expect(policy.client(presenting: old) == nil)
        // An open tunnel does not outlive it either.
        guard case .refused = try client.reconsider(Endpoint("in.example:443")) else {
            Issue.record("a revoked authority's certificate is refused")
            return
        }
    }

    private func generation(of der: [UInt8]) throws -> Int64? {
        let certificate = try Certificate(derEncoded: der)
        return certificate.extensions[oid: ObjectIdentifiers.signerGeneration].flatMap {
            SignerGeneration.decode($0.value)
        }
    }
}

extension DataFixture {
    /// The certificate of a new instance, DER.
    func enrolled() async throws -> [UInt8] {
        try await chain(link(), Self.request())[0]
    }
}
