package import SallyportCore
internal import SallyportLoading

/// What is done with the chain of certificates that a server shows.
package enum TrustDecision: Sendable, Hashable {
    /// Verification decides.
    case verification
    /// No decision was made yet: the handshake ends, and ``ServerTrustEvaluation`` is the failure's underlying error,
    /// whether the chain verifies or not. libcurl 7.88 cannot hold a handshake while the app is asked.
    case ask
    /// The app has decided on one chain; any other ends the handshake as ``ask`` does.
    ///
    /// - Parameter isTrusted: whether the chain is taken though it does not verify.
    case decided(ChainFingerprint, isTrusted: Bool)
}

/// Whose word counts on certificates that were withdrawn before their end.
package struct RevocationRules: Sendable, Hashable {
    /// What is asked of an answer that the server has from its authority (RFC 6066 §8, RFC 6960).
    package enum Stapling: Sendable, Hashable {
        case ignored
        /// One that is sent must be good, and must be sent where the certificate says so (RFC 7633).
        case whenSent
        case required
    }

    /// Signed lists (RFC 5280 §5); DER.
    package var lists: [[UInt8]] = []
    /// Whether the lists are asked about the authorities of a chain too.
    package var coversAuthorities = false
    /// Whether a certificate is taken whose authority has no list that is in force.
    package var allowsUnknown = false
    package var stapling = Stapling.whenSent

    package init() {}
}
