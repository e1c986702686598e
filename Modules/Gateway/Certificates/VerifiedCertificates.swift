internal import Foundation

/// What certificates say that one of a gateway's authorities was found to have issued: each is read, and its signature
/// verified, once.
///
/// A value, which ``CurrentState`` keeps. It holds what never changes; dates, and whether the authority is accepted, are
/// judged at each use.
struct VerifiedCertificates: Sendable {
    /// How many are held: some 4 MiB.
    static let limit = 4096

    private var known: [[UInt8]: PresentedCertificate] = [:]

    /// What a certificate says; nil if it was not verified or was forgotten since, and if it is not accepted now.
    func certificate(_ der: [UInt8], of authorities: Authorities, at now: Date)
        -> PresentedCertificate?
    {
        guard let known = known[der], known.start <= now, authorities.accept(known, at: now) else {
            return nil
        }
        return known
    }

    /// - Returns: what is dropped to make room, for the caller to free.
    mutating func add(_ presented: PresentedCertificate, from der: [UInt8]) -> VerifiedCertificates? {
        var dropped: VerifiedCertificates?
        if known.count >= Self.limit { (dropped, self) = (self, VerifiedCertificates()) }
        known[der] = presented
        return dropped
    }
}
