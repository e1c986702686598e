internal import Logging
internal import SallyportCore

// How many users have tickets and secrets here.

extension Kerberos {
    /// The most users with tickets or passwords, over all principals; those of keytabs and caches do not count. An app
    /// may have one principal for each of its own users.
    package static let limit = 1024

    /// Sets a user's book, for which another one may have to make room.
    func put(_ book: TicketBook, for owner: TicketOwner) {
        state.books[owner] = book
        makeRoom(beside: owner)
    }

    /// A call needs the user's book until it has its tickets. Until then the book is one beyond the limit: a user whose
    /// password may turn out to be wrong takes the place of no other. Ended with ``endWait(for:)``.
    func beginWait(for owner: TicketOwner) { state.waiting[owner, default: 0] += 1 }

    func endWait(for owner: TicketOwner) {
        let count = state.waiting[owner] ?? 1
        state.waiting[owner] = count > 1 ? count - 1 : nil
        makeRoom()
    }

    /// Drops the books beyond the limit, and their records: first those that are worth least, and of these the ones
    /// that were used least recently. Books whose tickets are awaited, and those of keytabs and caches, stay and do not
    /// count.
    ///
    /// - Parameter owner: a user whose book stays.
    func makeRoom(beside owner: TicketOwner? = nil) {
        guard state.books.count > limit else { return }
        let (now, waiting) = (clock(), state.waiting)
        let counted = state.books.filter { waiting[$0.key] == nil && !$0.value.isPermanent }
        let excess = counted.count - limit
        guard excess > 0 else { return }
        let idle = counted.filter { $0.key != owner }
            .map { (owner: $0.key, worth: $0.value.worth(at: now), use: $0.value.use) }
        let dropped = idle.sorted { ($0.worth, $0.use) < ($1.worth, $1.use) }.prefix(excess).map(\.owner)
        for owner in dropped { state.books[owner] = nil }
        storage?.remove(dropped) { [logger] result in
            guard case .failure(let error) = result else { return }
            logger.warning("Tickets that made room cannot be removed.", metadata: ["error": "\(error)"])
        }
    }
}
