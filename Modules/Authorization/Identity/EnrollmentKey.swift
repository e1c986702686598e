internal import Crypto
internal import FoundationEssentials
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// A private key for which a certificate is being requested.
struct EnrollmentKey: Sendable {
    private let key: P256.Signing.PrivateKey

    init() { key = P256.Signing.PrivateKey() }

    /// Restores a key that was stored by an unfinished enrolment.
    init?(pem: String) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { return nil }
        self.key = key
    }

    /// PKCS#8.
    var pem: String { key.pemRepresentation }

    /// A PKCS#10 request in DER. Its subject is empty: the gateway identifies the user by the access key's record.
    func request() throws(AuthorizationError) -> [UInt8] {
        do {
            let request = try CertificateSigningRequest(
                version: .v1, subject: DistinguishedName(), privateKey: Certificate.PrivateKey(key),
                attributes: CertificateSigningRequest.Attributes())
            var serializer = DER.Serializer()
            try serializer.serialize(request)
            return serializer.serializedBytes
        } catch {
            throw AuthorizationError(
                .communicationFailed, .activationUnknown, "The certificate request could not be made.",
                underlying: error)
        }
    }

    /// Finds this key's certificate in the gateway's answer and checks that it meets an instance's requirements.
    func certificate(
        in bag: CertificateBag, from authorities: [[UInt8]]
    ) throws(AuthorizationError) -> (der: [UInt8], certificate: Certificate, name: InstanceName) {
        let authorities = authorities.compactMap { try? Certificate(derEncoded: $0) }
        for bytes in bag.certificates {
            guard let certificate = try? Certificate(derEncoded: bytes),
                P256.Signing.PublicKey(certificate.publicKey)?.x963Representation == key.publicKey.x963Representation
            else { continue }
            guard authorities.contains(where: { CertificateRules.issued(certificate, by: $0) }),
                CertificateRules.isLeaf(certificate, for: .clientAuth),
                let name = CertificateRules.instanceName(of: certificate)
            else { throw refused }
            return (bytes, certificate, name)
        }
        throw refused
    }

    private var refused: AuthorizationError {
        AuthorizationError(
            .communicationFailed, .serverCommunicationFailed, "The gateway's answer holds no certificate for this key.",
            underlying: UnusableAnswer())
    }
}
