internal import Foundation
internal import SallyportWire

/// The authorities of a gateway, as they lie in its store.
struct AuthorityRecord: Codable, Sendable {
    /// One that is announced and issues nothing yet.
    struct Next: Codable, Sendable {
        var identity: StoredIdentity
        /// The present authority's word for its key, DER.
        var endorsement: [UInt8]
        var announced: Date
        /// No configuration before the announcement had a higher epoch: an instance that has stored a later one knows it.
        var epoch: Int64
    }

    /// One that issues nothing any more, and whose key is gone.
    struct Former: Codable, Sendable {
        /// DER.
        var certificate: [UInt8]
        /// How long certificates of instances that it issued are accepted.
        var until: Date
    }

    /// The one that issues.
    var present: StoredIdentity
    var next: Next?
    /// The latest first.
    var former: [Former] = []
    /// The generation of signers. Each revocation begins another; no lower one is believed then.
    var signers: Int64 = 1

    /// How long an announced authority waits for instances that are away: as long as their certificates can be renewed, so
    /// that none is lost that could come back otherwise. Former ones are accepted as long, for the same reason.
    static let overlap = CertificateAuthority.Lifetime.instance + CertificateAuthority.Lifetime.renewalGrace
    /// With the present and the next one, no more than a configuration names.
    static let formerLimit = 2
}

/// The authorities of a gateway, ready for use.
struct Authorities: Sendable {
    let record: AuthorityRecord
    /// The one that is in force.
    let issuing: CertificateAuthority
    private let former: [(authority: AuthorityCertificate, until: Date)]

    init(_ record: AuthorityRecord) throws(GatewayError) {
        self.record = record
        issuing = try CertificateAuthority(record.present)
        former = try record.former.map { former throws(GatewayError) in
            (try AuthorityCertificate(former.certificate), former.until)
        }
    }

    /// Reads a client's certificate, which the authority in force issued, or a former one that is still accepted.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        do throws(GatewayError) {
            return try issuing.instance(presented: der, now: now)
        } catch {
            for (authority, until) in former where now < until {
                if let presented = try? authority.instance(presented: der, now: now) { return presented }
            }
            throw error
        }
    }

    /// Whether a certificate that was read before would be accepted today.
    func accept(_ presented: PresentedCertificate, at now: Date) -> Bool {
        presented.authority == issuing.own.fingerprint
            || former.contains { $0.authority.fingerprint == presented.authority && now < $0.until }
    }

    /// Whom instances are to believe.
    var announced: ConfigurationDocument.Trust {
        ConfigurationDocument.Trust(
            authorities: [issuing.der] + (record.next.map { [$0.identity.certificate] } ?? []),
            endorsements: record.next.map { [$0.endorsement] } ?? [], signers: record.signers)
    }

    /// All that may stand behind a certificate of the gateway, its relays or its instances; DER.
    var all: [[UInt8]] { announced.authorities + record.former.map(\.certificate) }
}
