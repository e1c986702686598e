internal import Crypto
internal import Foundation
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// An instance's certificate as it was presented, after its signature was verified.
struct PresentedCertificate: Sendable, Hashable {
    let name: InstanceName
    /// The serial number in hexadecimal.
    let serial: String
    let start: Date
    /// The end of its own or of its authority's validity, whichever comes first.
    let end: Date
    /// The ``AuthorityCertificate/fingerprint`` of the authority that issued it.
    let authority: [UInt8]

    func isExpired(at now: Date) -> Bool { end <= now }
}

/// An authority without its key, which is enough to verify the certificates that it has issued.
struct AuthorityCertificate: Sendable {
    let certificate: Certificate
    let der: [UInt8]
    /// The SHA-256 hash of the DER.
    let fingerprint: [UInt8]

    init(_ der: [UInt8]) throws(GatewayError) {
        do { certificate = try Certificate(derEncoded: der) } catch {
            throw GatewayError(.internalFailure, "A stored certificate cannot be read.", underlying: error)
        }
        self.der = der
        fingerprint = Array(SHA256.hash(data: der))
    }

    /// Reads a client's certificate: it must be issued by this authority, for clientAuth, and name an instance. Its
    /// expiry is not checked, since renewal accepts an expired one.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        guard let (leaf, uri) = client(presented: der, now: now), let name = InstanceName(uri) else {
            throw GatewayError(.unauthorized, "The certificate is not one of an instance of this gateway.")
        }
        return PresentedCertificate(
            name: name, serial: CertificateAuthority.serial(of: leaf), start: leaf.notValidBefore,
            end: min(leaf.notValidAfter, certificate.notValidAfter), authority: fingerprint)
    }

    /// Reads the certificate of a relay of the fleet: as that of an instance, but with another kind of name.
    func relay(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedRelay {
        guard let (leaf, uri) = client(presented: der, now: now), let id = RelayIdentifier(uri: uri) else {
            throw GatewayError(.unauthorized, "The certificate is not one of a relay of this fleet.")
        }
        return PresentedRelay(
            id: id, serial: CertificateAuthority.serial(of: leaf),
            end: min(leaf.notValidAfter, certificate.notValidAfter), authority: fingerprint)
    }

    /// A certificate that this authority has issued for clientAuth, and its only name.
    private func client(presented der: [UInt8], now: Date) -> (leaf: Certificate, uri: String)? {
        guard let leaf = try? Certificate(derEncoded: der), leaf.issuer == certificate.subject,
            certificate.publicKey.isValidSignature(leaf.signature, for: leaf), leaf.notValidBefore <= now,
            let usage = try? leaf.extensions.extendedKeyUsage, usage.contains(.clientAuth),
            let constraints = try? leaf.extensions.basicConstraints, case .notCertificateAuthority = constraints,
            let alternatives = try? leaf.extensions.subjectAlternativeNames, alternatives.count == 1,
            case .uniformResourceIdentifier(let uri)? = alternatives.first
        else { return nil }
        return (leaf, uri)
    }
}
