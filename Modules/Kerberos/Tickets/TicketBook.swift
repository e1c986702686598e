internal import SallyportCore

/// Whose tickets: a user in the name of a principal.
struct TicketOwner: Sendable, Hashable {
    let principal: Principal
    let user: KerberosUser
}

/// What a user asks for tickets with.
enum TicketSource: Sendable, Equatable {
    case secret(SignInSecret)
    /// A credential cache's file, which somebody else keeps fresh.
    case cache(String)

    var isPassword: Bool {
        if case .secret(.password) = self { true } else { false }
    }
}

/// The tickets of one user, and how to get others. A value; who is asked for tickets is elsewhere.
struct TicketBook: Sendable {
    /// The most services that tickets are kept of; the one that ends first is forgotten beyond.
    static let limit = 256

    var source: TicketSource?
    private(set) var granting: Ticket?
    /// A granting ticket for services that act for the user; made of ``granting``.
    var forwarded: Ticket?
    private(set) var services: [ServiceName: Ticket] = [:]
    /// When it was used last, in the order of uses.
    var use: UInt64 = 0

    var isEmpty: Bool { granting == nil && services.isEmpty }

    mutating func put(granting ticket: Ticket) {
        granting = ticket
        forwarded = nil
    }

    mutating func put(_ ticket: Ticket, for service: ServiceName) {
        services[service] = ticket
        guard services.count > Self.limit else { return }
        if let first = services.min(by: { $0.value.ends < $1.value.ends }) { services[first.key] = nil }
    }

    /// The service did not take it: another is asked for.
    mutating func drop(_ ticket: Ticket, for service: ServiceName) {
        if services[service] === ticket { services[service] = nil }
    }

    /// The realm did not take it.
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

    /// Whether it gives tickets without anybody being asked.
    func isOfUse(at now: Int64) -> Bool { source != nil || granting?.holds(at: now) == true }
}
