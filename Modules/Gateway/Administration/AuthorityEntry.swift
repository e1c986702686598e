internal import Crypto
internal import Foundation
internal import SallyportWire

/// What an administrator may do to the gateway's authority.
package enum AuthorityAction: Sendable, Hashable, Codable {
    case status
    /// Announces the next authority.
    case rotate
    /// Puts it in force. `confirmed`: also where instances have not heard of it, which need a new activation then.
    case finish(confirmed: Bool)
    /// Takes signer and server certificate out, and former authorities. `confirmed`: also where instances may still have
    /// certificates of those.
    case revoke(confirmed: Bool)
}

/// The authorities of a gateway and what they have issued for it. Times are Unix seconds.
package struct AuthorityEntry: Sendable, Hashable, Codable {
    package struct Certificate: Sendable, Hashable, Codable {
        /// As in activation links: SHA-256, base64url.
        package var fingerprint: String
        package var ends: Int64
    }

    package struct Next: Sendable, Hashable, Codable {
        package var certificate: Certificate
        package var announced: Int64
        /// When it comes into force by itself.
        package var due: Int64
        /// How many instances have not heard of it.
        package var waiting: Int
    }

    package struct Former: Sendable, Hashable, Codable {
        package var certificate: Certificate
        /// How long certificates of instances that it issued are accepted.
        package var until: Int64
    }

    package var present: Certificate
    package var next: Next?
    package var former: [Former]
    /// The generation of signers that is believed.
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
