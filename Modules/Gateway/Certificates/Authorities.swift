internal import Foundation
internal import SallyportBase
internal import SallyportWire

/// The authorities of a gateway, as stored.
struct AuthorityRecord: Codable, Sendable {
    /// An authority that is announced and does not issue certificates yet.
    struct Next: Codable, Sendable {
        var identity: StoredIdentity
        /// A certificate for its key, issued by the present authority, DER.
        var endorsement: [UInt8]
        var announced: Date
        /// No configuration before the announcement had a higher epoch, so an instance that has stored a later one
        /// knows of it. It can be told only once the announcement is in force: until then it is `unbounded`.
        var epoch: Int64 = Self.unbounded

        /// No instance counts as told.
        static let unbounded = Int64.max
    }

    /// An authority that no longer issues certificates, and whose key was destroyed.
    struct Former: Codable, Sendable {
        /// DER.
        var certificate: [UInt8]
        /// Until when instances' certificates that it issued are accepted.
        var until: Date
    }

    /// The authority that issues certificates.
    var present: StoredIdentity
    var next: Next?
    /// The former authorities, the latest first.
    var former: [Former] = []
    /// The generation of signers. Each revocation increments it; signers of a lower generation are not trusted any
    /// more.
    var signers: Int64 = 1

    /// How long an announced authority waits for instances that are offline: as long as their certificates can be
    /// renewed, so that no instance is lost that could otherwise return. Former authorities are accepted for as long,
    /// for the same reason.
    static let overlap = CertificateAuthority.Lifetime.instance + CertificateAuthority.Lifetime.renewalGrace
    /// The greatest number of former authorities: with the present and the next one, as many as a configuration may
    /// name.
    static let formerLimit = 2
}

// MARK: Changes

extension AuthorityRecord {
    /// With a next authority, which the present one endorses.
    ///
    /// - Parameter name: the gateway's.
    /// - Throws: `exists` if one is announced already, `invalid` if too many former ones are still accepted.
    func announcing(under name: String, at now: Date) throws(GatewayError) -> AuthorityRecord {
        guard next == nil else {
            throw GatewayError(.exists, "An authority is announced already: `--finish` puts it in force.")
        }
        guard former.count < Self.formerLimit else {
            throw GatewayError(
                .invalid, "\(Self.formerLimit) former authorities are still accepted, the most.")
        }
        // A name other than the present authority's, so that no verifier confuses the two.
        let suffix = Hexadecimal.text([UInt8].random(count: 4))
        let identity = try CertificateAuthority.create(name: "\(name) \(suffix)", now: now)
        let endorsement = try CertificateAuthority(present).endorsement(of: identity, now: now)
        var record = self
        record.next = Next(identity: identity, endorsement: endorsement, announced: now)
        return record
    }

    /// With the announced authority in force, and the present one among the former; unchanged if none is announced.
    func finished(at now: Date) -> AuthorityRecord {
        guard let next else { return self }
        var record = self
        let until = now.addingTimeInterval(Self.overlap)
        record.former.insert(Former(certificate: present.certificate, until: until), at: 0)
        (record.present, record.next) = (next.identity, nil)
        return record
    }
}

/// The authorities of a gateway, ready for use.
struct Authorities: Sendable {
    let record: AuthorityRecord
    /// The authority in force.
    let issuing: CertificateAuthority
    /// Those whose certificates are accepted, without their keys.
    let accepted: AcceptedAuthorities

    init(_ record: AuthorityRecord) throws(GatewayError) {
        self.record = record
        issuing = try CertificateAuthority(record.present)
        accepted = try AcceptedAuthorities(
            present: issuing.own, former: record.former,
            announced: record.next.map { [$0.identity.certificate] } ?? [])
    }

    /// See ``AcceptedAuthorities/instance(presented:now:)``.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        try accepted.instance(presented: der, now: now)
    }

    /// The trust that configurations announce to instances.
    var announced: ConfigurationDocument.Trust {
        ConfigurationDocument.Trust(
            authorities: [issuing.der] + (record.next.map { [$0.identity.certificate] } ?? []),
            endorsements: record.next.map { [$0.endorsement] } ?? [], signers: record.signers)
    }

    /// All authorities that may have issued a certificate of the gateway, its relays or its instances; DER.
    var all: [[UInt8]] { announced.authorities + record.former.map(\.certificate) }
}
