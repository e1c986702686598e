internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// A user's tickets as they are stored.
///
/// Bytes: version 1, principal and user, then each ticket: the seconds by which the realm's clock is ahead (4),
/// service, host, and krb5's own format. Texts and tickets follow their length (4); a ticket-granting ticket has
/// neither service nor host.
package struct TicketRecord: Sendable {
    /// In bytes; a longer record is not stored.
    package static let maximumLength = 8 << 20
    private static let version: UInt8 = 1

    struct Entry: Sendable {
        /// Nil for the ticket-granting ticket.
        var service: ServiceName?
        var offset: Int32
        var bytes: [UInt8]
    }

    var owner: TicketOwner
    var entries: [Entry]

    init(_ owner: TicketOwner, _ entries: [Entry]) { (self.owner, self.entries) = (owner, entries) }

    package var bytes: [UInt8] {
        var writer = ByteWriter([Self.version])
        writer.part(owner.principal.name.utf8, 4)
        writer.part(owner.user.description.utf8, 4)
        for entry in entries {
            writer.number(UInt64(UInt32(bitPattern: entry.offset)), 4)
            writer.part((entry.service?.service ?? "").utf8, 4)
            writer.part((entry.service?.host ?? "").utf8, 4)
            writer.part(entry.bytes, 4)
        }
        return writer.bytes
    }

    /// Nil for anything that ``bytes`` cannot have written.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumLength else { return nil }
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let principal = reader.text(4), let name = reader.text(4),
            let user = KerberosUser(parsing: name)
        else { return nil }
        owner = TicketOwner(
            principal: principal == Principal.instance.name ? .instance : Principal(principal), user: user)
        entries = []
        while reader.remaining > 0 {
            guard entries.count <= TicketBook.limit, let offset = reader.number(4), let service = reader.text(4),
                let host = reader.text(4), let ticket = reader.part(4), service.isEmpty == host.isEmpty
            else { return nil }
            let name = service.isEmpty ? nil : ServiceName(service: service, host: host)
            entries.append(Entry(service: name, offset: Int32(bitPattern: UInt32(offset)), bytes: Array(ticket)))
        }
    }
}

extension TicketRecord {
    /// Nil if krb5 cannot serialize a ticket.
    init?(_ owner: TicketOwner, _ book: TicketBook) {
        guard let context = try? KerberosContext() else { return nil }
        var entries: [Entry] = []
        func add(_ ticket: Ticket, _ service: ServiceName?) {
            guard let bytes = try? ticket.bytes(context) else { return }
            entries.append(Entry(service: service, offset: ticket.offset, bytes: bytes))
        }
        if let granting = book.granting { add(granting, nil) }
        for (service, ticket) in book.services { add(ticket, service) }
        self.init(owner, entries)
    }

    /// Adds the readable tickets.
    func fill(_ book: inout TicketBook) {
        guard let context = try? KerberosContext() else { return }
        for entry in entries {
            guard let ticket = try? Ticket(entry.bytes, offset: entry.offset, context) else { continue }
            if let service = entry.service { book.put(ticket, for: service) } else { book.put(granting: ticket) }
        }
    }
}
