internal import Foundation

/// The authorities whose certificates are accepted, without their keys: all that judging a client needs.
struct AcceptedAuthorities: Sendable {
    private let present: AuthorityCertificate
    private let former: [(authority: AuthorityCertificate, until: Date)]
    private let announced: [AuthorityCertificate]

    /// - Parameter announced: the authorities that are to come into force later, DER.
    init(
        present: AuthorityCertificate, former: [AuthorityRecord.Former], announced: [[UInt8]]
    ) throws(GatewayError) {
        self.present = present
        self.announced = try announced.map { der throws(GatewayError) in try AuthorityCertificate(der) }
        self.former = try former.map { former throws(GatewayError) in
            (try AuthorityCertificate(former.certificate), former.until)
        }
    }

    /// Reads an instance's certificate, issued by the authority in force or by a former one that is still accepted.
    func instance(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedCertificate {
        try first(at: now) { authority throws(GatewayError) in try authority.instance(presented: der, now: now) }
    }

    /// Reads a relay's certificate in the same way.
    func relay(presented der: [UInt8], now: Date) throws(GatewayError) -> PresentedRelay {
        try first(at: now) { authority throws(GatewayError) in try authority.relay(presented: der, now: now) }
    }

    /// Whether an instance's certificate is of an announced authority: it is not accepted here, but the authority may
    /// have come into force without word of it here.
    func mayAccept(_ der: [UInt8], at now: Date) -> Bool {
        announced.contains { (try? $0.instance(presented: der, now: now)) != nil }
    }

    private func first<Value>(
        at now: Date, _ read: (AuthorityCertificate) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value {
        do throws(GatewayError) {
            return try read(present)
        } catch {
            for (authority, until) in former where now < until {
                if let value = try? read(authority) { return value }
            }
            throw error
        }
    }

    /// Whether a certificate that was read before is still accepted.
    func accept(_ presented: PresentedCertificate, at now: Date) -> Bool {
        accept(presented.authority, at: now)
    }

    /// Whether a relay's certificate that was read before is still accepted.
    func accept(_ presented: PresentedRelay, at now: Date) -> Bool { accept(presented.authority, at: now) }

    private func accept(_ fingerprint: [UInt8], at now: Date) -> Bool {
        fingerprint == present.fingerprint
            || former.contains { $0.authority.fingerprint == fingerprint && now < $0.until }
    }
}
