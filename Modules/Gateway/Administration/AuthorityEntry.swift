internal import Crypto
internal import Foundation
internal import SallyportWire

/// What an administrator may do to the gateway's authority.
package enum AuthorityAction: Sendable, Hashable, Codable {
    case status
    /// Announces the next authority.
    case rotate
    /// Puts the next authority in force. `confirmed`: even if some instances have not heard of it, which then need a
    /// new activation.
    case finish(confirmed: Bool)
    /// Revokes the signer's and the server's certificates, and drops former authorities. `confirmed`: even if some
    /// instances may still have certificates of those.
    case revoke(confirmed: Bool)
}

/// The authorities of a gateway, and the certificates that they have issued for it. Times are Unix seconds.
package struct AuthorityEntry: Sendable, Hashable, Codable {
    package struct Certificate: Sendable, Hashable, Codable {
        /// The fingerprint as in activation links: SHA-256, base64url.
        package var fingerprint: String
        package var ends: Int64
    }

    package struct Next: Sendable, Hashable, Codable {
        package var certificate: Certificate
        package var announced: Int64
        /// When it comes into force automatically.
        package var due: Int64
        /// The number of instances that have not heard of it.
        package var waiting: Int
    }

    package struct Former: Sendable, Hashable, Codable {
        package var certificate: Certificate
        /// Until when instances' certificates that it issued are accepted.
        package var until: Int64
    }

    package var present: Certificate
    package var next: Next?
    package var former: [Former]
    /// The generation of signers that is trusted.
    package var signers: Int64
    package var signer: Certificate
    package var server: Certificate
}

extension GatewayData {
    var authorityEntry: AuthorityEntry {
        let record = authorities.record
        let next = record.next.map { next in
            AuthorityEntry.Next(
                certificate: .init(next.identity.certificate), announced: next.announced.seconds,
                due: next.announced.addingTimeInterval(AuthorityRecord.overlap).seconds,
                waiting: instancesWithout(next).count)
        }
        return AuthorityEntry(
            present: .init(record.present.certificate), next: next,
            former: record.former.map { .init(certificate: .init($0.certificate), until: $0.until.seconds) },
            signers: record.signers, signer: .init(signer.certificate), server: .init(server.certificate))
    }
}

extension AuthorityEntry.Certificate {
    init(_ der: [UInt8]) {
        self.init(
            fingerprint: Base64URL.encode(Array(SHA256.hash(data: der))),
            ends: CertificateAuthority.end(ofDER: der)?.seconds ?? 0)
    }
}

extension Date {
    fileprivate var seconds: Int64 { Int64(timeIntervalSince1970) }
}
