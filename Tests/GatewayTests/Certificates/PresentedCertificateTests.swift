import Crypto
import Foundation
import SallyportWire
import Testing
import X509

@testable import SallyportGateway

/// Which client certificates name an instance. Each differs in one thing from one that does.
@Suite struct PresentedCertificateTests {
    private let now = Date()
    private let authority: CertificateAuthority
    private let name: InstanceName
    private let key = Certificate.PublicKey(P256.Signing.PrivateKey().publicKey)

    init() throws {
        authority = try CertificateAuthority(CertificateAuthority.create(name: "one", now: Date()))
        name = try #require(InstanceName("sallyport://com.example.app/0b5e4d9e-3f0d-4a5e-9d8a-2f1c6b7a8e90"))
    }

    @Test func anInstancesOwnNamesIt() throws {
        let presented = try authority.instance(presented: authority.instance(name, key: key, now: now), now: now)
        #expect(presented.name == name && !presented.isExpired(at: now))
    }

    @Test func anAuthorityOfTheSameNameIsAnother() throws {
        let twin = try CertificateAuthority(CertificateAuthority.create(name: "one", now: now))
        try expectRefusal(twin.instance(name, key: key, now: now))
    }

    @Test func aServersIsNoClients() throws {
        try expectRefusal(issue(.serverAuth, name.description))
    }

    @Test(arguments: ["sallyport://com.example.app", "https://com.example.app/0b5e4d9e-3f0d-4a5e-9d8a-2f1c6b7a8e90"])
    func anotherNameIsNoInstances(_ text: String) throws {
        try expectRefusal(issue(.clientAuth, text))
    }

    @Test func onesTimeMustHaveCome() throws {
        try expectRefusal(authority.instance(name, key: key, now: now.addingTimeInterval(3600)))
    }

    @Test(arguments: [0, 1, 40])
    func invalidCertificatesAreRefused(_ length: Int) throws {
        try expectRefusal(Array(authority.instance(name, key: key, now: now).prefix(length)))
    }

    /// A resumed session shows a certificate of which nothing but this says how long its authority's holds.
    @Test func oneEndsWithItsAuthority() throws {
        let day: TimeInterval = 86_400
        let begun = now.addingTimeInterval(day - CertificateAuthority.Lifetime.authority)
        let old = try CertificateAuthority(CertificateAuthority.create(name: "old", now: begun))
        let presented = try old.instance(presented: old.instance(name, key: key, now: now), now: now)
        #expect(!presented.isExpired(at: now.addingTimeInterval(day - 60)))
        #expect(presented.isExpired(at: now.addingTimeInterval(day + 60)))
    }

    @Test func oneThatWasReadBeforeIsJudgedByTheTimeAgain() throws {
        let authorities = try Authorities(AuthorityRecord(present: CertificateAuthority.create(name: "one", now: now)))
        let der = try authorities.issuing.instance(name, key: key, now: now)
        let presented = try authorities.instance(presented: der, now: now)
        var verified = VerifiedCertificates()
        _ = verified.add(presented, from: der)
        #expect(verified.certificate(der, of: authorities.accepted, at: now) == presented)
        #expect(verified.certificate(der, of: authorities.accepted, at: now.addingTimeInterval(-3600)) == nil)
    }

    @Test func oneOfAFormerAuthorityThatWasReadBeforeEndsWithItsTime() throws {
        let former = try CertificateAuthority(CertificateAuthority.create(name: "former", now: now))
        let until = now.addingTimeInterval(60)
        let authorities = try Authorities(
            AuthorityRecord(
                present: CertificateAuthority.create(name: "one", now: now),
                former: [.init(certificate: former.der, until: until)]))
        let der = try former.instance(name, key: key, now: now)
        let presented = try authorities.instance(presented: der, now: now)
        #expect(presented.authority == former.own.fingerprint)
        #expect(throws: GatewayError.self) { try authorities.instance(presented: der, now: until) }
        var verified = VerifiedCertificates()
        _ = verified.add(presented, from: der)
        #expect(verified.certificate(der, of: authorities.accepted, at: now) == presented)
        #expect(verified.certificate(der, of: authorities.accepted, at: until) == nil)
    }

    @Test func onesThatWereReadBeforeTakeBoundedRoom() throws {
        let authorities = try Authorities(
            AuthorityRecord(present: CertificateAuthority.create(name: "one", now: now)))
        let der = try authorities.issuing.instance(name, key: key, now: now)
        let presented = try authorities.instance(presented: der, now: now)
        var verified = VerifiedCertificates()
        let ders = (0...VerifiedCertificates.limit).map { Array("\($0)".utf8) }
        for der in ders { _ = verified.add(presented, from: der) }
        #expect(ders.count { verified.certificate($0, of: authorities.accepted, at: now) != nil } == 1)
        #expect(verified.certificate(ders[ders.count - 1], of: authorities.accepted, at: now) == presented)
    }

    private func issue(_ usage: ExtendedKeyUsage.Usage, _ name: String) throws -> [UInt8] {
        try authority.issue(
            key: key, subject: "instance", usage: usage, alternative: .uniformResourceIdentifier(name), lifetime: 3600,
            now: now)
    }

    private func expectRefusal(_ der: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: GatewayError.self, sourceLocation: sourceLocation) {
            try authority.instance(presented: der, now: now)
        }
        #expect(error?.code == .unauthorized, sourceLocation: sourceLocation)
    }
}
