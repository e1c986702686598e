internal import Crypto
internal import Foundation
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// An instance's certificate as it was presented, once its signature was checked.
struct PresentedCertificate: Sendable, Hashable {
    let name: InstanceName
    /// Hexadecimal.
    let serial: String
    let end: Date
    /// ``AuthorityCertificate/fingerprint`` of the one that issued it.
    let authority: [UInt8]

    func isExpired(at now: Date) -> Bool { end <= now }
}

/// An authority without its key: enough to know what it has issued.
struct AuthorityCertificate: Sendable {
    let certificate: Certificate
    let der: [UInt8]
    /// SHA-256 of the DER.
    let fingerprint: [UInt8]

    init(_ der: [UInt8]) throws(GatewayError) {
        do { certificate = try Certificate(derEncoded: der) } catch {
            throw GatewayError(.internalFailure, "A stored certificate cannot be read.", underlying: error)
        }
        self.der = der
        fingerprint = Array(SHA256.hash(data: der))
    }

    /// Reads a client's certificate: issued by this authority, for clientAuth, named as an instance. Its end is not
    /// looked at: one path takes an expired one.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        let refusal = GatewayError(.unauthorized, "The certificate is not one of an instance of this gateway.")
        guard let leaf = try? Certificate(derEncoded: der), leaf.issuer == certificate.subject,
            certificate.publicKey.isValidSignature(leaf.signature, for: leaf), leaf.notValidBefore <= now,
            let usage = try? leaf.extensions.extendedKeyUsage, usage.contains(.clientAuth),
            let constraints = try? leaf.extensions.basicConstraints, case .notCertificateAuthority = constraints,
            let alternatives = try? leaf.extensions.subjectAlternativeNames, alternatives.count == 1,
            case .uniformResourceIdentifier(let uri)? = alternatives.first, let name = InstanceName(uri)
        else { throw refusal }
        return PresentedCertificate(
            name: name, serial: CertificateAuthority.serial(of: leaf), end: leaf.notValidAfter, authority: fingerprint)
    }
}
