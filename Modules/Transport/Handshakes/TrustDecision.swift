package import SallyportCore
internal import SallyportLoading

/// What happens with the certificate chain that a server presents.
package enum TrustDecision: Sendable, Hashable {
    /// Verification decides.
    case verification
    /// No decision was made yet: the handshake ends, and ``ServerTrustEvaluation`` is the failure's underlying error,
    /// even if the chain can be verified. libcurl 7.88 cannot hold a handshake while the app is asked.
    case ask
    /// The app has decided on one chain; any other ends the handshake as ``ask`` does.
    ///
    /// - Parameter isTrusted: whether the chain is accepted although its verification fails.
    case decided(ChainFingerprint, isTrusted: Bool)
}

/// The checks for revoked certificates.
package struct RevocationRules: Sendable, Hashable {
    /// The requirements for a stapled OCSP response (RFC 6066 §8, RFC 6960).
    package enum Stapling: Sendable, Hashable {
        case ignored
        /// A stapled response must be good; one is required if the certificate says so (RFC 7633).
        case whenSent
        case required
    }

    /// Signed lists (RFC 5280 §5); DER.
    package var lists: [[UInt8]] = []
    /// Whether the authorities of a chain are checked against the lists too.
    package var coversAuthorities = false
    /// Whether a certificate is accepted if its authority has no valid list.
    package var allowsUnknown = false
    package var stapling = Stapling.whenSent

    package init() {}
}
