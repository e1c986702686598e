internal import Logging
internal import SallyportBase
public import SallyportCore

extension Kerberos {
    /// The principal's users whose tickets can be used without asking the app; the one used last comes first.
    func usersAtHand(of principal: Principal) throws(KerberosError) -> [KerberosUser] {
        try load()
        let now = clock()
        return state.books.filter { $0.key.principal == principal && $0.value.isOfUse(at: now) }
            .sorted { ($1.value.use, $0.key.user.description) < ($0.value.use, $1.key.user.description) }
            .map { $0.key.user }
    }

    /// The app's password was for one load: its tickets stay, but no others are requested with it.
    func forgetPassword(of owner: TicketOwner) {
        if case .secret(.password) = state.books[owner]?.source { state.books[owner]?.source = nil }
    }

    /// A service accepted the user's ticket.
    func wasUsed(_ owner: TicketOwner) {
        state.uses += 1
        // Read before `book` is accessed, which is a part of the same state.
        let use = state.uses
        state.books[owner]?.use = use
    }

    /// A service refused a ticket: another one is requested.
    func refused(_ ticket: Ticket, for service: ServiceName, of owner: TicketOwner) {
        state.books[owner]?.drop(ticket, for: service)
    }
}

/// Hides its content from dumps: it contains tickets and passwords, and reflection reads an actor's state without its
/// isolation.
extension Kerberos: CustomReflectable {
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}

extension Kerberos: CredentialFollower {
    /// Removes tickets, passwords, keytabs and caches, which are the credentials of `Negotiate`. After it, the app is
    /// asked for a user, or sets a keytab or cache again.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/store``, which is also logged.
    public func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async throws {
        guard method == nil || method == .negotiate else { return }
        do throws(KerberosError) {
            try await clear()
        } catch {
            logger.warning("Tickets could not be removed.", metadata: ["error": "\(error)"])
            throw error
        }
    }
}
