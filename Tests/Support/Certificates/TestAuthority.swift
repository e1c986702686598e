package import Crypto
internal import SallyportBase
package import SallyportCore
internal import SwiftASN1
package import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A certificate authority of a test's own, P-256 throughout.
package struct TestAuthority: Sendable {
    package let certificate: Certificate
    package let key: P256.Signing.PrivateKey

    package init(name: String = "Test Authority") throws {
        let key = P256.Signing.PrivateKey()
        self.key = key
        let subject = try DistinguishedName { CommonName(name) }
        certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey),
            notValidBefore: .now.addingTimeInterval(-3600), notValidAfter: .now.addingTimeInterval(10 * 86400),
            issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
            },
            issuerPrivateKey: .init(key))
    }

    package var der: [UInt8] { get throws { try certificate.derBytes } }
    package var pem: String { get throws { try certificate.serializeAsPEM().pemString + "\n" } }
}

/// A certificate that a test authority issued, and its key.
package struct TestIdentity: Sendable {
    package let certificate: Certificate
    package let key: P256.Signing.PrivateKey

    package init(certificate: Certificate, key: P256.Signing.PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    /// One that a gateway issued, from its files' text.
    package init(pem: String, keyPEM: String) throws {
        self.init(certificate: try Certificate(pemEncoded: pem), key: try .init(pemRepresentation: keyPEM))
    }

    package var der: [UInt8] { get throws { try certificate.derBytes } }
    package var pem: String { get throws { try certificate.serializeAsPEM().pemString + "\n" } }
    /// PKCS#8.
    package var keyPEM: String { key.pemRepresentation + "\n" }

    /// Of the SubjectPublicKeyInfo.
    package var publicKeySHA256: [UInt8] { Array(SHA256.hash(data: key.publicKey.derRepresentation)) }

    package var clientIdentity: ClientIdentity {
        get throws { try ClientIdentity(certificates: [der], privateKey: Redacted(keyPEM)) }
    }
}

extension TestAuthority {
    /// Of the SubjectPublicKeyInfo.
    package var publicKeySHA256: [UInt8] { Array(SHA256.hash(data: key.publicKey.derRepresentation)) }

    /// What a certificate says it is for.
    package enum Usage: Sendable, CaseIterable {
        case server, client
        /// No extension, which RFC 5280 reads as "anything".
        case unsaid
        /// `anyExtendedKeyUsage` alone.
        case any
    }

    /// How long a certificate holds.
    package enum Validity: Sendable { case current, expired, notYet }

    /// Issues a server's certificate for names and IP addresses (`127.0.0.1`, `::1`), for serverAuth
    /// unless a test wants a wrong one.
    package func server(
        names: [String] = ["localhost"], addresses: [IPAddress] = [], usage: Usage = .server,
        validity: Validity = .current
    ) throws -> TestIdentity {
        let bytes = addresses.map { GeneralName.ipAddress(ASN1OctetString(contentBytes: $0.bytes[...])) }
        return try issue(
            name: names.first ?? "server", alternatives: names.map(GeneralName.dnsName) + bytes, usage: usage,
            validity: validity)
    }

    /// Issues an instance's certificate with a SAN URI, for clientAuth only.
    package func client(
        uri: String = "sallyport://com.example.test/0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11",
        validity: Validity = .current
    ) throws -> TestIdentity {
        try issue(
            name: "instance", alternatives: [.uniformResourceIdentifier(uri)], usage: .client, validity: validity)
    }

    /// Issues a certificate with any alternative names and usage, so that a test can make a wrong one.
    package func issue(
        name: String, alternatives: [GeneralName], usage: Usage, validity: Validity = .current
    ) throws -> TestIdentity {
        let key = P256.Signing.PrivateKey()
        let (from, to) = validity.dates
        let issuer = certificate.subject
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: from,
            notValidAfter: to, issuer: issuer, subject: DistinguishedName { CommonName(name) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                if let purpose = usage.purpose { try ExtendedKeyUsage([purpose]) }
                SubjectAlternativeNames(alternatives)
            },
            issuerPrivateKey: .init(self.key))
        return TestIdentity(certificate: certificate, key: key)
    }
}

extension TestAuthority.Usage {
    fileprivate var purpose: ExtendedKeyUsage.Usage? {
        switch self {
        case .server: .serverAuth
        case .client: .clientAuth
        case .unsaid: nil
        case .any: .any
        }
    }
}

extension TestAuthority.Validity {
    fileprivate var dates: (from: Date, to: Date) {
        let now = Date.now
        return switch self {
        case .current: (now.addingTimeInterval(-3600), now.addingTimeInterval(7 * 86400))
        case .expired: (now.addingTimeInterval(-7200), now.addingTimeInterval(-3600))
        case .notYet: (now.addingTimeInterval(3600), now.addingTimeInterval(7200))
        }
    }
}

extension Certificate {
    fileprivate var derBytes: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}
