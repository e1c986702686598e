internal import Crypto
internal import FoundationEssentials
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// Decides whether a signed configuration is the gateway's, for this instance, and not older than the one known.
struct ConfigurationVerifier: Sendable {
    /// DER of the pinned authority.
    let authority: [UInt8]
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
        do {
            let signed = try JWS(text, type: ConfigurationDocument.type)
            try signed.verify(with: signerKey(signed.header.certificates, at: time))
            document = try ConfigurationDocument(parsing: signed.payload)
        } catch let error as AuthorizationError {
            throw error
        } catch {
            throw refused("The configuration does not verify.", error)
        }
        try check(document, after: known)
        return document
    }

    private func check(
        _ document: ConfigurationDocument, after known: ConfigurationDocument?
    ) throws(AuthorizationError) {
        guard document.aud == instance.instance, document.entitlement.id == instance.entitlement else {
            throw refused("The configuration is for another instance.")
        }
        guard let known else { return }
        guard document.epoch >= known.epoch else { throw refused("The configuration is older than the one known.") }
        guard document.epoch > known.epoch || document == known else {
            throw refused("Two configurations have one epoch.")
        }
    }

    /// The key of the leaf, once the pinned authority itself is known to have issued it for signing configurations.
    /// There are no intermediates, so that this is the whole chain.
    private func signerKey(
        _ chain: [[UInt8]], at time: Int64
    ) throws(AuthorizationError) -> P256.Signing.PublicKey {
        guard let first = chain.first, let signer = try? Certificate(derEncoded: first),
            let authority = try? Certificate(derEncoded: authority)
        else { throw refused("The configuration names no signer.") }
        guard CertificateRules.issued(signer, by: authority), CertificateRules.isValid(signer, at: time),
            CertificateRules.isValid(authority, at: time)
        else { throw refused("The signer is not the gateway's, or its certificate is not valid now.") }
        let usage = ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.configurationSigning)
        guard CertificateRules.isLeaf(signer, for: usage), let key = P256.Signing.PublicKey(signer.publicKey) else {
            throw refused("The signer's certificate is not for signing configurations.")
        }
        return key
    }

    private func refused(
        _ message: String, _ cause: (any Error)? = nil, line: UInt = #line
    ) -> AuthorizationError {
        AuthorizationError(
            .invalidConfiguration, .serverCommunicationFailed, message, underlying: cause, line: line)
    }
}
