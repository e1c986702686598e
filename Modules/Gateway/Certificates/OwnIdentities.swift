internal import Foundation
internal import SallyportWire
internal import X509

/// A gateway's own certificates with their keys.
struct OwnIdentities: Sendable, Hashable {
    /// Of all listeners.
    var server: StoredIdentity
    /// Of the key that signs configurations.
    var signer: StoredIdentity

    init(server: StoredIdentity, signer: StoredIdentity) { (self.server, self.signer) = (server, signer) }

    /// New certificates.
    init(host: String, under authorities: Authorities, at now: Date) throws(GatewayError) {
        server = try authorities.issuing.server(host: host, now: now)
        signer = try authorities.issuing.signer(generation: authorities.record.signers, now: now)
    }

    /// Whether the authority in force has issued both, for its present generation of signers.
    func are(of authorities: Authorities) throws(GatewayError) -> Bool {
        let issuer = authorities.issuing.own
        guard try server.isIssued(by: issuer), try signer.isIssued(by: issuer) else { return false }
        return try Self.generation(of: signer.parsed().certificate) == authorities.record.signers
    }

    private static func generation(of signer: Certificate) -> Int64? {
        signer.extensions[oid: ObjectIdentifiers.signerGeneration].flatMap { SignerGeneration.decode($0.value) }
    }

    /// With new certificates in place of those that have served two thirds of their life.
    func renewed(host: String, under authorities: Authorities, at now: Date) throws(GatewayError) -> OwnIdentities {
        var renewed = self
        if server.isDue(at: now) { renewed.server = try authorities.issuing.server(host: host, now: now) }
        if signer.isDue(at: now) {
            renewed.signer = try authorities.issuing.signer(generation: authorities.record.signers, now: now)
        }
        return renewed
    }
}

extension StoredIdentity {
    /// Whether it has served two thirds of its life.
    func isDue(at now: Date) -> Bool {
        guard let start = CertificateAuthority.start(ofDER: certificate),
            let end = CertificateAuthority.end(ofDER: certificate)
        else { return true }
        return now.timeIntervalSince(start) > end.timeIntervalSince(start) * 2 / 3
    }

    /// Whether it is this authority's.
    func isIssued(by authority: AuthorityCertificate) throws(GatewayError) -> Bool {
        let certificate = try parsed().certificate
        return authority.certificate.publicKey.isValidSignature(certificate.signature, for: certificate)
    }
}
