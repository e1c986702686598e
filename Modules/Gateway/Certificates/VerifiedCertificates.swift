internal import SallyportBase

/// What certificates say that one of a gateway's authorities was found to have issued: each is read, and its signature
/// verified, once.
///
/// It holds what never changes. Dates, and whether the authority is accepted, are judged at each use. A lock and no
/// actor: event loops and the callbacks of TLS ask at each handshake.
final class VerifiedCertificates: Sendable {
    /// How many are held: some 4 MiB.
    static let limit = 4096

    private let known = Lock<[[UInt8]: PresentedCertificate]>([:])

    /// What a certificate says; nil if it was not verified, or was forgotten since.
    subscript(der: [UInt8]) -> PresentedCertificate? { known.withLock { $0[der] } }

    func add(_ presented: PresentedCertificate, from der: [UInt8]) {
        // What is dropped is freed behind the lock.
        _ = known.withLock { known -> [[UInt8]: PresentedCertificate] in
            let dropped = known.count >= Self.limit ? known : [:]
            if !dropped.isEmpty { known = [:] }
            known[der] = presented
            return dropped
        }
    }
}
