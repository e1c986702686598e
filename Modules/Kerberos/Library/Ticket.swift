internal import CKerberos
internal import SallyportCore

/// A ticket and its session key, which is cleared with it. Never changes.
@safe
final class Ticket: @unchecked Sendable {
    // SAFETY: what it points to is read by krb5, never written, and freed when nobody holds it.
    let handle: OpaquePointer
    private let facts: sk_ticket_facts
    /// How many seconds the realm's clock is ahead of this machine's.
    let offset: Int32

    init(_ handle: OpaquePointer, offset: Int32) {
        unsafe self.handle = handle
        facts = unsafe sk_ticket_look(handle)
        self.offset = offset
    }

    deinit { unsafe sk_ticket_free(handle) }

    /// Unix seconds by the realm's clock.
    var ends: Int64 { facts.ends }
    /// As ``ends``; 0 where it cannot be renewed.
    var renewableUntil: Int64 { facts.flags & Flag.renewable == 0 ? 0 : facts.renewable_until }
    var isForwardable: Bool { facts.flags & Flag.forwardable != 0 }
    /// Whether the realm trusts the service to act for its users (RFC 4120 §2.8).
    var isTrustedForDelegation: Bool { facts.flags & Flag.trusted != 0 }
    /// Whether it is for the ticket-granting service.
    var isGranting: Bool { unsafe sk_ticket_is_granting(handle) != 0 }

    private enum Flag {
        static let forwardable: UInt32 = 0x4000_0000
        static let renewable: UInt32 = 0x0080_0000
        static let trusted: UInt32 = 0x0004_0000
    }

    /// How much earlier than its end a ticket counts as expired: it still has to travel.
    static let margin: Int64 = 30

    /// - Parameter now: Unix seconds by this machine's clock.
    func holds(at now: Int64) -> Bool { ends - Self.margin > now + Int64(offset) }

    /// Whether more than half of its life is over and it can be renewed still.
    func wantsRenewal(at now: Int64) -> Bool {
        let now = now + Int64(offset)
        return renewableUntil > ends && now > (facts.starts + facts.ends) / 2 && now < ends
    }

    func client(_ context: KerberosContext) throws(KerberosError) -> String {
        var text = unsafe sk_octets()
        try context.check(unsafe sk_ticket_client(context.handle, handle, &text))
        return unsafe text.takeText()
    }

    func server(_ context: KerberosContext) throws(KerberosError) -> String {
        var text = unsafe sk_octets()
        try context.check(unsafe sk_ticket_server(context.handle, handle, &text))
        return unsafe text.takeText()
    }

    /// krb5's own form, with the session key.
    func octets(_ context: KerberosContext) throws(KerberosError) -> [UInt8] {
        var octets = unsafe sk_octets()
        try context.check(unsafe sk_ticket_marshal(context.handle, handle, &octets))
        return unsafe octets.take()
    }

    /// What ``octets(_:)`` gave.
    convenience init(_ octets: [UInt8], offset: Int32, _ context: KerberosContext) throws(KerberosError) {
        var made: OpaquePointer?
        let code = unsafe octets.withUnsafeBufferPointer { octets in
            unsafe octets.baseAddress.map { unsafe sk_ticket_unmarshal(context.handle, $0, octets.count, &made) } ?? -1
        }
        guard code == 0, let made = unsafe made else {
            throw KerberosError(.store, "A stored ticket cannot be read.")
        }
        unsafe self.init(made, offset: offset)
    }
}
