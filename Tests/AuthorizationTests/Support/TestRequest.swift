import SwiftASN1
import X509

/// What a certificate request asks for.
struct TestRequest {
    let publicKey: Certificate.PublicKey
    init(_ der: [UInt8]) throws { publicKey = try CertificateSigningRequest(derEncoded: der).publicKey }
}
