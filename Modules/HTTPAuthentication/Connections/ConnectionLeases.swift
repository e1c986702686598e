internal import SallyportBase
package import SallyportCore
package import SallyportLoading

/// The authenticated connections of one principal in one protection space: at most as many at once as a session may
/// have to an origin, each used by one load at a time. Those on which the server already knows the user are kept for
/// the next load.
///
/// Uses a lock: a lease ends when it is released or when a body is discarded, and both are synchronous calls.
package final class ConnectionLeases: Sendable {
    private let book = Lock(LeaseBook<Waiter<Bool>>())

    package init() {}

    /// Waits for a free connection.
    ///
    /// - Parameter isFresh: whether connections on which the server already knows the user are excluded.
    /// - Throws: ``LoadError/Code/cancelled``, ``LoadError/Code/resourceTimeout``.
    package func take(
        for credential: Credential, at place: ConnectionPlace, isFresh: Bool, until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> ConnectionLease {
        if !book.withLock({ $0.begin(at: place) }) { try await turn(at: place, until: deadline) }
        let (known, surplus) = book.withLock { book in
            guard !isFresh, let known = book.takeIdle(credential, at: place) else {
                return (nil as IdleConnection?, book.makeRoom(at: place))
            }
            return (known, [])
        }
        // Closed here, after the lock was released.
        withExtendedLifetime(surplus) {}
        return ConnectionLease(of: self, at: place, known: known, for: credential)
    }

    private func turn(at place: ConnectionPlace, until deadline: ContinuousClock.Instant) async throws(LoadError) {
        // A turn that comes just as the time runs out must not be lost, so both results are awaited.
        let isMine = await withTaskGroup(of: Bool.self) { [self] group in
            group.addTask { await self.wait(at: place) }
            group.addTask {
                try? await deadline.wait()
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            let second = await group.next() ?? false
            return first || second
        }
        guard !Task.isCancelled else {
            if isMine { ended(at: place) }
            throw .cancelled()
        }
        guard isMine else {
            throw LoadError(
                .resourceTimeout, at: .request, "All connections of the user were in use for the time of the load.")
        }
    }

    /// - Returns: false if the task was cancelled first.
    private func wait(at place: ConnectionPlace) async -> Bool {
        await book.wait(orCancelled: false) { book, waiter in
            if book.begin(at: place) { return true }
            book.wait(waiter, with: waiter.number, at: place)
            return nil
        } leave: { book, ticket in
            book.gaveUp(ticket, at: place)
        }
    }

    /// The server no longer knows the user.
    package func forget(_ credential: Credential) {
        let forgotten = book.withLock { $0.forget(credential) }
        withExtendedLifetime(forgotten) {}
    }

    /// Closes idle connections, and keeps none from here on.
    package func end() {
        let ended = book.withLock { $0.end() }
        withExtendedLifetime(ended) {}
    }

    fileprivate func keep(_ connection: IdleConnection, at place: ConnectionPlace) {
        let surplus = book.withLock { $0.keep(connection, at: place) }
        withExtendedLifetime(surplus) {}
    }

    fileprivate func ended(at place: ConnectionPlace) {
        book.withLock { $0.ended(at: place) }?.resume(returning: true)
    }
}

/// One connection, used by one load, until the body of its answer was read.
package final class ConnectionLease: Sendable {
    package let connection: BoundConnection
    /// The number of a connection on which the server knows the user (``ConnectionFacts/number``); nil if it must be
    /// authenticated.
    package let known: UInt64?
    package let credential: Credential
    private let leases: ConnectionLeases
    private let place: ConnectionPlace

    fileprivate init(
        of leases: ConnectionLeases, at place: ConnectionPlace, known: IdleConnection?, for credential: Credential
    ) {
        connection = known?.connection ?? BoundConnection()
        self.known = known?.number
        self.credential = credential
        self.leases = leases
        self.place = place
    }

    /// The next waiting load gets its turn. The connection is closed, unless it was kept.
    deinit { leases.ended(at: place) }

    /// The server knows the connection's user, and the answer was read to its end: the next load can use the
    /// connection.
    package func keep(as number: UInt64) {
        leases.keep(IdleConnection(connection: connection, number: number, credential: credential), at: place)
    }
}
