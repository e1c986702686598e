internal import SallyportCore

/// The owner of tickets: a user of a principal.
struct TicketOwner: Sendable, Hashable {
    let principal: Principal
    let user: KerberosUser
}

/// A user who asks for tickets, and the source from which they were to be obtained at that moment: another call may
/// replace the source while the realm is asked. The source is nil if there were only the tickets at hand.
struct Applicant: Sendable, Hashable {
    let owner: TicketOwner
    let source: TicketSource?
}

/// The source of a user's tickets.
enum TicketSource: Sendable, Hashable {
    case secret(SignInSecret)
    /// A credential cache file that another program keeps valid.
    case cache(String)

    var isPassword: Bool {
        if case .secret(.password) = self { true } else { false }
    }
}

/// The tickets of one user, and their source. A value; it does no I/O.
struct TicketBook: Sendable {
    /// The most services with tickets; beyond that, the ticket that expires first is dropped.
    static let limit = 256

    var source: TicketSource? {
        didSet { if source != oldValue { isVerified = false } }
    }
    /// Whether a ticket-granting ticket was put since the source was set: a password that no KDC has confirmed may be
    /// anyone's.
    private(set) var isVerified = false
    private(set) var granting: Ticket?
    /// A ticket-granting ticket for services that act for the user; obtained with ``granting``.
    var forwarded: Ticket?
    private(set) var services: [ServiceName: Ticket] = [:]
    /// The time of the last use, as a counter.
    var use: UInt64 = 0

    var isEmpty: Bool { granting == nil && services.isEmpty }

    mutating func put(granting ticket: Ticket) {
        isVerified = true
        granting = ticket
        forwarded = nil
    }

    mutating func put(_ ticket: Ticket, for service: ServiceName) {
        services[service] = ticket
        guard services.count > Self.limit else { return }
        if let first = services.min(by: { $0.value.ends < $1.value.ends }) { services[first.key] = nil }
    }

    /// The service refused it: another one is requested.
    mutating func drop(_ ticket: Ticket, for service: ServiceName) {
        if services[service] === ticket { services[service] = nil }
    }

    /// The realm refused it.
    mutating func drop(granting ticket: Ticket) {
        guard granting === ticket else { return }
        granting = nil
        forwarded = nil
    }

    mutating func dropTickets() {
        granting = nil
        forwarded = nil
        services = [:]
    }

    /// Whether the app set the source, a keytab or a cache, with a call of its own. It is not asked for it again, so
    /// the book makes room for no other.
    var isPermanent: Bool { source?.isPassword == false }

    /// How much is lost without it: nothing (0); a password that no KDC has confirmed (1); tickets, or the password
    /// with which some were obtained (2).
    func worth(at now: Int64) -> Int {
        if granting?.holds(at: now) == true || services.values.contains(where: { $0.holds(at: now) }) { return 2 }
        guard source != nil else { return 0 }
        return isVerified ? 2 : 1
    }

    /// Whether it can provide tickets without asking the app.
    func isOfUse(at now: Int64) -> Bool { source != nil || granting?.holds(at: now) == true }
}
