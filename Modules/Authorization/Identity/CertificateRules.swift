internal import FoundationEssentials
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// The requirements for certificates of the gateway's authority, in a hierarchy without intermediates (RFC 5280).
enum CertificateRules {
    static func issued(_ certificate: Certificate, by authority: Certificate) -> Bool {
        guard certificate.issuer == authority.subject,
            case .isCertificateAuthority = try? authority.extensions.basicConstraints
        else { return false }
        return authority.publicKey.isValidSignature(certificate.signature, for: certificate)
    }

    static func isValid(_ certificate: Certificate, at time: Int64) -> Bool {
        let time = Date(timeIntervalSince1970: Double(time))
        return certificate.notValidBefore <= time && time <= certificate.notValidAfter
    }

    /// Whether it is not an authority, is meant for this use, and has no unknown critical extension.
    static func isLeaf(_ certificate: Certificate, for usage: ExtendedKeyUsage.Usage) -> Bool {
        let known: Set<ASN1ObjectIdentifier> = [
            .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.extendedKeyUsage,
            .X509ExtensionID.subjectAlternativeName,
        ]
        guard certificate.extensions.allSatisfy({ !$0.critical || known.contains($0.oid) }) else { return false }
        do {
            if case .isCertificateAuthority = try certificate.extensions.basicConstraints { return false }
            return try certificate.extensions.extendedKeyUsage?.contains(usage) == true
        } catch {
            return false
        }
    }

    /// The only URI of an instance's certificate.
    static func instanceName(of certificate: Certificate) -> InstanceName? {
        guard let names = try? certificate.extensions.subjectAlternativeNames else { return nil }
        let uris = names.compactMap { name -> String? in
            if case .uniformResourceIdentifier(let uri) = name { uri } else { nil }
        }
        return uris.count == 1 ? InstanceName(uris[0]) : nil
    }

    /// The generation of a signer of configurations; nil if its certificate does not name one.
    static func generation(of certificate: Certificate) -> Int64? {
        certificate.extensions[oid: ObjectIdentifiers.signerGeneration].flatMap { SignerGeneration.decode($0.value) }
    }

    /// Whether `endorsement` certifies, under the key of `known`, that the key of `new` is an authority's. All are DER.
    static func endorses(_ endorsement: [UInt8], _ new: [UInt8], by known: [UInt8], at time: Int64) -> Bool {
        guard let endorsement = try? Certificate(derEncoded: endorsement), let new = try? Certificate(derEncoded: new),
            let known = try? Certificate(derEncoded: known)
        else { return false }
        let usage = ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.authorityEndorsement)
        return issued(endorsement, by: known) && isValid(known, at: time) && isValid(endorsement, at: time)
            && isLeaf(endorsement, for: usage) && endorsement.publicKey == new.publicKey && issued(new, by: new)
    }
}
