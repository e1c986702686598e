internal import Foundation

/// The contents of certificates that one of the gateway's authorities has issued: each is parsed, and its signature
/// verified, only once.
///
/// A value, kept by ``CurrentState``. It contains only what never changes; dates, and whether the authority is
/// accepted, are checked at each use.
struct VerifiedCertificates: Sendable {
    /// The most certificates that are kept: about 4 MiB.
    static let limit = 4096

    private var known: [[UInt8]: PresentedCertificate] = [:]

    /// The contents of a certificate; nil if it was not verified, was dropped since, or is not accepted now.
    func certificate(_ der: [UInt8], of authorities: AcceptedAuthorities, at now: Date)
        -> PresentedCertificate?
    {
        guard let known = known[der], known.start <= now, authorities.accept(known, at: now) else {
            return nil
        }
        return known
    }

    /// - Returns: the value that is dropped to make room, for the caller to free.
    mutating func add(_ presented: PresentedCertificate, from der: [UInt8]) -> VerifiedCertificates? {
        var dropped: VerifiedCertificates?
        if known.count >= Self.limit { (dropped, self) = (self, VerifiedCertificates()) }
        known[der] = presented
        return dropped
    }
}
