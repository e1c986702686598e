internal import CKerberos
internal import SallyportCore

/// A ticket and its session key, which is cleared with it. Immutable.
@safe
final class Ticket: @unchecked Sendable {
    // SAFETY: krb5 reads the memory but never writes it; it is freed when there is no reference left.
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

    /// When it expires, in Unix seconds by the realm's clock.
    var ends: Int64 { facts.ends }
    /// Until when it can be renewed; 0 if it cannot.
    var renewableUntil: Int64 { facts.flags & Flag.renewable == 0 ? 0 : facts.renewable_until }
    var isForwardable: Bool { facts.flags & Flag.forwardable != 0 }
    /// Whether the realm trusts the service to act for its users (RFC 4120 §2.8).
    var isTrustedForDelegation: Bool { facts.flags & Flag.trusted != 0 }
    /// Whether it is a ticket-granting ticket.
    var isGranting: Bool { unsafe sk_ticket_is_granting(handle) != 0 }

    private enum Flag {
        static let forwardable: UInt32 = 0x4000_0000
        static let renewable: UInt32 = 0x0080_0000
        static let trusted: UInt32 = 0x0004_0000
    }

    /// How long before its end a ticket counts as expired: it must still be transferred.
    static let margin: Int64 = 30

    /// - Parameter now: Unix seconds by this machine's clock.
    func holds(at now: Int64) -> Bool { ends - Self.margin > now + Int64(offset) }

    /// Whether more than half of its life is over and it can still be renewed.
    func wantsRenewal(at now: Int64) -> Bool {
        let now = now + Int64(offset)
        return renewableUntil > ends && now > (facts.starts + facts.ends) / 2 && now < ends
    }

    func client(_ context: KerberosContext) throws(KerberosError) -> String {
        var text = unsafe sk_bytes()
        try context.check(unsafe sk_ticket_client(context.handle, handle, &text))
        return unsafe text.takeText()
    }

    func server(_ context: KerberosContext) throws(KerberosError) -> String {
        var text = unsafe sk_bytes()
        try context.check(unsafe sk_ticket_server(context.handle, handle, &text))
        return unsafe text.takeText()
    }

    /// krb5's own format, with the session key.
    func bytes(_ context: KerberosContext) throws(KerberosError) -> [UInt8] {
        var bytes = unsafe sk_bytes()
        try context.check(unsafe sk_ticket_marshal(context.handle, handle, &bytes))
        return unsafe bytes.take()
    }

    /// Reads the result of ``bytes(_:)``.
    convenience init(_ bytes: [UInt8], offset: Int32, _ context: KerberosContext) throws(KerberosError) {
        var made: OpaquePointer?
        let code = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe bytes.baseAddress.map { unsafe sk_ticket_unmarshal(context.handle, $0, bytes.count, &made) } ?? -1
        }
        guard code == 0, let made = unsafe made else {
            throw KerberosError(.store, "A stored ticket cannot be read.")
        }
        unsafe self.init(made, offset: offset)
    }
}
