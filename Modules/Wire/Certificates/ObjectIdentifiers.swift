package import SwiftASN1

/// Object identifiers that both sides must agree on.
package enum ObjectIdentifiers {
    /// The extended key usage of configuration signing: a UUID arc (X.667) of this project's own, so that neither an
    /// instance's nor the server's certificate can sign a configuration.
    package static let configurationSigning: ASN1ObjectIdentifier =
        [2, 25, 186_291_338_617_443_026, 1]
    /// The extension that holds a ``SignerGeneration``.
    package static let signerGeneration: ASN1ObjectIdentifier = [2, 25, 186_291_338_617_443_026, 2]
    /// The extended key usage of a certificate by which an authority endorses the next one's key. A signer of
    /// configurations cannot issue such a certificate.
    package static let authorityEndorsement: ASN1ObjectIdentifier = [2, 25, 186_291_338_617_443_026, 3]
    /// PKCS#7 signed data (RFC 5652 §5.1).
    package static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 2]
    /// PKCS#7 data (RFC 5652 §4).
    package static let data: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 1]
}
