internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// A certificate and its private key, as they are stored.
struct StoredIdentity: Codable, Sendable, Hashable {
    /// DER.
    var certificate: [UInt8]
    /// PKCS#8, PEM.
    var key: String

    func parsed() throws(GatewayError) -> (certificate: Certificate, key: P256.Signing.PrivateKey) {
        do {
            return (try Certificate(derEncoded: certificate), try P256.Signing.PrivateKey(pemRepresentation: key))
        } catch {
            throw GatewayError(.internalFailure, "A stored certificate cannot be read.", underlying: error)
        }
    }
}

/// Issues the certificates of a gateway and its instances: P-256 throughout.
struct CertificateAuthority: Sendable {
    /// The validity of certificates, in seconds.
    enum Lifetime {
        static let authority: TimeInterval = 10 * 365 * 86_400
        static let gateway: TimeInterval = 90 * 86_400
        static let instance: TimeInterval = 7 * 86_400
        /// How long after its expiry an instance's certificate may still be renewed.
        static let renewalGrace: TimeInterval = 30 * 86_400
        /// Certificates begin earlier than now, for clocks that lag.
        static let backdating: TimeInterval = 300
    }

    let own: AuthorityCertificate
    private let key: P256.Signing.PrivateKey
    private var certificate: Certificate { own.certificate }
    var der: [UInt8] { own.der }

    init(_ identity: StoredIdentity) throws(GatewayError) {
        key = try identity.parsed().key
        own = try AuthorityCertificate(identity.certificate)
    }

    /// A new authority that may issue leaves only.
    static func create(name: String, now: Date) throws(GatewayError) -> StoredIdentity {
        let key = P256.Signing.PrivateKey()
        return try mapped {
            let subject = try DistinguishedName { CommonName("Sallyport \(name)") }
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
                notValidBefore: now.addingTimeInterval(-Lifetime.backdating),
                notValidAfter: now.addingTimeInterval(Lifetime.authority), issuer: subject, subject: subject,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                    Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                    SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
                },
                issuerPrivateKey: .init(key))
            return StoredIdentity(certificate: try certificate.derBytes(), key: key.pemRepresentation)
        }
    }

    /// A server's certificate, for serverAuth only.
    func server(host: String, now: Date) throws(GatewayError) -> StoredIdentity {
        let key = P256.Signing.PrivateKey()
        let der = try server(host: host, key: .init(key.publicKey), now: now)
        return StoredIdentity(certificate: der, key: key.pemRepresentation)
    }

    /// The certificate of a relay's listener, for a key that only the relay has.
    func server(host: String, key: Certificate.PublicKey, now: Date) throws(GatewayError) -> [UInt8] {
        let name: GeneralName =
            IPAddress(host).map { .ipAddress(ASN1OctetString(contentBytes: $0.bytes[...])) } ?? .dnsName(host)
        return try issue(
            key: key, subject: host, usage: .serverAuth, alternative: name, lifetime: Lifetime.gateway, now: now)
    }

    /// A relay's certificate for the feed, for clientAuth only.
    func relay(_ id: RelayIdentifier, key: Certificate.PublicKey, now: Date) throws(GatewayError) -> [UInt8] {
        try issue(
            key: key, subject: id.description, usage: .clientAuth,
            alternative: .uniformResourceIdentifier(id.uri), lifetime: Lifetime.gateway, now: now)
    }

    /// A certificate for signing configurations, with an extended key usage of its own, and its generation.
    func signer(generation: Int64, now: Date) throws(GatewayError) -> StoredIdentity {
        let key = P256.Signing.PrivateKey()
        let usage = ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.configurationSigning)
        let value = try Self.mapped { try SignerGeneration.encode(generation) }
        let der = try issue(
            key: .init(key.publicKey), subject: "configuration", usage: usage, alternative: nil,
            lifetime: Lifetime.gateway, now: now,
            further: .init(oid: ObjectIdentifiers.signerGeneration, critical: false, value: value[...]))
        return StoredIdentity(certificate: der, key: key.pemRepresentation)
    }

    /// A certificate for the next authority's key, issued by this one, DER.
    func endorsement(of next: StoredIdentity, now: Date) throws(GatewayError) -> [UInt8] {
        try issue(
            key: next.parsed().certificate.publicKey, subject: "authority",
            usage: ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.authorityEndorsement), alternative: nil,
            lifetime: Lifetime.gateway, now: now)
    }

    /// An instance's certificate, for clientAuth only; the gateway chooses the name, not the request.
    func instance(
        _ name: InstanceName, key: Certificate.PublicKey, now: Date
    ) throws(GatewayError) -> [UInt8] {
        try issue(
            key: key, subject: name.instance.description, usage: .clientAuth,
            alternative: .uniformResourceIdentifier(name.description), lifetime: Lifetime.instance, now: now)
    }

    func issue(
        key subjectKey: Certificate.PublicKey, subject: String, usage: ExtendedKeyUsage.Usage,
        alternative: GeneralName?, lifetime: TimeInterval, now: Date, further: Certificate.Extension? = nil
    ) throws(GatewayError) -> [UInt8] {
        try Self.mapped {
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: subjectKey,
                notValidBefore: now.addingTimeInterval(-Lifetime.backdating),
                notValidAfter: now.addingTimeInterval(lifetime), issuer: self.certificate.subject,
                subject: DistinguishedName { CommonName(subject) }, signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([usage])
                    if let alternative { SubjectAlternativeNames([alternative]) }
                    if let further { further }
                    SubjectKeyIdentifier(hash: subjectKey)
                    AuthorityKeyIdentifier(
                        keyIdentifier: SubjectKeyIdentifier(hash: self.certificate.publicKey).keyIdentifier)
                },
                issuerPrivateKey: .init(self.key))
            return try certificate.derBytes()
        }
    }

    private static func mapped<Value>(_ body: () throws -> Value) throws(GatewayError) -> Value {
        do { return try body() } catch {
            throw GatewayError(.internalFailure, "A certificate could not be made.", underlying: error)
        }
    }
}

// MARK: Reading

extension CertificateAuthority {
    /// See ``AuthorityCertificate/instance(presented:now:)``.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        try own.instance(presented: der, now: now)
    }

    static func serial(of certificate: Certificate) -> String {
        Hexadecimal.text(certificate.serialNumber.bytes)
    }

    static func serial(ofDER der: [UInt8]) -> String {
        (try? Certificate(derEncoded: der)).map(serial) ?? ""
    }

    static func end(ofDER der: [UInt8]) -> Date? { (try? Certificate(derEncoded: der))?.notValidAfter }
    static func start(ofDER der: [UInt8]) -> Date? { (try? Certificate(derEncoded: der))?.notValidBefore }

    /// Reads a request: its signature is that of its own key, and the key is P-256. Nothing else of it is used.
    static func key(ofRequest der: [UInt8]) throws(GatewayError) -> Certificate.PublicKey {
        guard let request = try? CertificateSigningRequest(derEncoded: der) else {
            throw GatewayError(.invalid, "The body is not a certificate request (PKCS#10).")
        }
        guard request.publicKey.isValidSignature(request.signature, for: request) else {
            throw GatewayError(.invalid, "The certificate request is not signed by its own key.")
        }
        guard P256.Signing.PublicKey(request.publicKey) != nil else {
            throw GatewayError(.invalid, "The key of a certificate request is P-256.")
        }
        return request.publicKey
    }
}

extension Certificate {
    func derBytes() throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(self)
        return serializer.serializedBytes
    }

    func pem() throws -> String { try serializeAsPEM().pemString + "\n" }
}
