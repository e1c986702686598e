internal import Crypto
internal import FoundationEssentials
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// Checks whether a signed configuration is from the gateway, for this instance, and not older than the known one.
struct ConfigurationVerifier: Sendable {
    /// The authorities and signers that the instance trusts.
    let trust: ConfigurationDocument.Trust
    let instance: InstanceName

    /// - Parameters:
    ///   - text: The compact JWS.
    ///   - known: The newest configuration accepted so far.
    ///   - time: Unix seconds at which the signer's certificate must be valid.
    /// - Throws: ``AuthorizationError/Code/invalidConfiguration``.
    func verify(
        _ text: [UInt8], after known: ConfigurationDocument?, at time: Int64
    ) throws(AuthorizationError) -> ConfigurationDocument {
        let document: ConfigurationDocument
        let signer: ConfigurationSigner
        do {
            let signed = try JWS(text, type: ConfigurationDocument.type)
            signer = try ConfigurationSigner(signed.header.certificates, trustedBy: trust, at: time)
            try signed.verify(with: signer.key)
            document = try ConfigurationDocument(parsing: signed.payload)
        } catch let error as AuthorizationError {
            throw error
        } catch {
            throw .refused("The configuration does not verify.", error)
        }
        try check(document, after: known)
        try check(document.trust, of: signer, at: time)
        guard ConfigurationDocument.Limits.lease.contains(document.leaseEnd - document.iat) else {
            throw .refused("The lease is shorter or longer than a gateway may give.")
        }
        // Otherwise an attacker with a leaked signer key could keep the gateway unreachable, and a lease would last for
        // ever.
        guard document.leaseEnd <= signer.end else { throw .refused("The lease outlasts its signer's certificate.") }
        return document
    }

    private func check(
        _ document: ConfigurationDocument, after known: ConfigurationDocument?
    ) throws(AuthorizationError) {
        guard document.aud == instance.instance, document.entitlement.id == instance.entitlement else {
            throw .refused("The configuration is for another instance.")
        }
        // If the known configuration's signer was revoked since, that signer may have chosen any epoch, so it is not
        // compared.
        guard let known, document.trust.signers <= known.trust.signers else { return }
        guard document.epoch >= known.epoch else { throw .refused("The configuration is older than the one known.") }
        guard document.epoch > known.epoch || document == known else {
            throw .refused("Two configurations have one epoch.")
        }
    }

    /// Refuses a configuration whose signer adds an authority that no known one endorses, or drops the authority that
    /// issued the signer's certificate, or claims a generation of signers that its certificate does not support.
    private func check(
        _ new: ConfigurationDocument.Trust, of signer: ConfigurationSigner, at time: Int64
    ) throws(AuthorizationError) {
        guard new.signers >= trust.signers, new.signers <= signer.generation else {
            throw .refused("The signer was revoked, or names a generation that its certificate does not.")
        }
        guard new.authorities.contains(signer.authority) else {
            throw .refused("The configuration drops the authority that issued its signer's certificate.")
        }
        for authority in new.authorities where !trust.authorities.contains(authority) {
            let isEndorsed = new.endorsements.contains { endorsement in
                trust.authorities.contains {
                    CertificateRules.endorses(endorsement, authority, by: $0, at: time)
                }
            }
            guard isEndorsed else { throw .refused("No known authority endorses a new one.") }
        }
    }
}

/// The signer of a configuration, after checking that a trusted authority issued its certificate for that purpose.
struct ConfigurationSigner: Sendable {
    let key: P256.Signing.PublicKey
    /// The authority that issued the signer's certificate, DER.
    let authority: [UInt8]
    let generation: Int64
    /// The end of the certificate's validity, Unix seconds.
    let end: Int64

    /// There are no intermediate certificates: the leaf is the whole chain.
    init(
        _ chain: [[UInt8]], trustedBy trust: ConfigurationDocument.Trust, at time: Int64
    ) throws(AuthorizationError) {
        guard let first = chain.first, let signer = try? Certificate(derEncoded: first) else {
            throw .refused("The configuration names no signer.")
        }
        let issuer = trust.authorities.first { authority in
            guard let authority = try? Certificate(derEncoded: authority) else { return false }
            return CertificateRules.issued(signer, by: authority) && CertificateRules.isValid(authority, at: time)
        }
        guard let issuer, CertificateRules.isValid(signer, at: time) else {
            throw .refused("The signer is not the gateway's, or its certificate is not valid now.")
        }
        let usage = ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.configurationSigning)
        guard CertificateRules.isLeaf(signer, for: usage), let key = P256.Signing.PublicKey(signer.publicKey),
            let generation = CertificateRules.generation(of: signer)
        else { throw .refused("The signer's certificate is not for signing configurations.") }
        (self.key, authority, self.generation) = (key, issuer, generation)
        end = Int64(signer.notValidAfter.timeIntervalSince1970)
    }
}

extension ConfigurationDocument {
    /// Whether this configuration replaces one that was accepted before. If signers were revoked in between, the
    /// earlier one's epoch is not compared.
    func isNewer(than old: ConfigurationDocument?) -> Bool {
        guard let old else { return true }
        return trust.signers == old.trust.signers ? epoch > old.epoch : trust.signers > old.trust.signers
    }
}

extension AuthorizationError {
    fileprivate static func refused(
        _ message: String, _ cause: (any Error)? = nil, line: UInt = #line
    ) -> AuthorizationError {
        AuthorizationError(
            .invalidConfiguration, .serverCommunicationFailed, message, underlying: cause, line: line)
    }
}
