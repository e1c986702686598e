internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Where connections are counted: a session of URL loading, and its limit of connections to one origin.
package struct ConnectionPlace: Sendable, Hashable {
    /// Identifies the session: a connection is used only by the session that made it.
    package let session: String
    package let limit: Int

    package init(session: String, limit: Int) {
        self.session = session
        self.limit = max(1, limit)
    }
}

/// An idle connection on which a server knows the user.
struct IdleConnection: Sendable {
    let connection: BoundConnection
    /// The ``ConnectionFacts/number``.
    let number: UInt64
    let credential: Credential
}

/// The connections of one protection space and the loads that wait for one: decisions only, no I/O.
struct LeaseBook<Waiter: Sendable>: Sendable {
    /// The most connections that are kept, for all sessions, including those that have ended.
    static var limit: Int { 128 }

    /// The idle connections of all sessions, with the most recently used one last.
    private var idle: [(session: String, connection: IdleConnection)] = []
    private var busy: [String: Int] = [:]
    private var waiting: [String: [(ticket: UInt64, waiter: Waiter)]] = [:]
    private(set) var isEnded = false

    /// Counts a connection in use.
    ///
    /// - Returns: false if the limit is reached.
    mutating func begin(at place: ConnectionPlace) -> Bool {
        guard busy[place.session, default: 0] < place.limit else { return false }
        busy[place.session, default: 0] += 1
        return true
    }

    /// - Parameter ticket: unique.
    mutating func wait(_ waiter: Waiter, with ticket: UInt64, at place: ConnectionPlace) {
        waiting[place.session, default: []].append((ticket, waiter))
    }

    /// - Returns: the waiter; nil if it has had its turn already, or never waited.
    mutating func gaveUp(_ ticket: UInt64, at place: ConnectionPlace) -> Waiter? {
        guard let index = waiting[place.session]?.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        let waiter = waiting[place.session]?.remove(at: index).waiter
        if waiting[place.session]?.isEmpty == true { waiting[place.session] = nil }
        return waiter
    }

    /// A connection is no longer in use.
    ///
    /// - Returns: the waiter that gets its turn; its connection is counted as in use.
    mutating func ended(at place: ConnectionPlace) -> Waiter? {
        if waiting[place.session]?.isEmpty == false {
            let next = waiting[place.session]?.removeFirst().waiter
            if waiting[place.session]?.isEmpty == true { waiting[place.session] = nil }
            return next
        }
        busy[place.session, default: 1] -= 1
        if busy[place.session] == 0 { busy[place.session] = nil }
        return nil
    }

    /// One of the user's connections, the most recently used one: it is the least likely to be closed.
    mutating func takeIdle(_ credential: Credential, at place: ConnectionPlace) -> IdleConnection? {
        let index = idle.lastIndex { $0.session == place.session && $0.connection.credential == credential }
        return index.map { idle.remove(at: $0).connection }
    }

    /// Keeps a connection for the next load.
    ///
    /// - Returns: the connections to close instead.
    mutating func keep(_ connection: IdleConnection, at place: ConnectionPlace) -> [IdleConnection] {
        guard !isEnded else { return [connection] }
        idle.append((place.session, connection))
        // It counts as in use until its load has ended; that load does not use another idle one.
        let surplus = trim(place, to: place.limit)
        return idle.count > Self.limit ? surplus + [idle.removeFirst().connection] : surplus
    }

    /// Makes room for a new connection, which counts as in use.
    mutating func makeRoom(at place: ConnectionPlace) -> [IdleConnection] {
        trim(place, to: place.limit - busy[place.session, default: 0])
    }

    private mutating func trim(_ place: ConnectionPlace, to room: Int) -> [IdleConnection] {
        let own = idle.indices.filter { idle[$0].session == place.session }
        let surplus = own.prefix(max(0, own.count - max(0, room)))
        let closed = surplus.map { idle[$0].connection }
        for index in surplus.reversed() { idle.remove(at: index) }
        return closed
    }

    /// - Returns: the connections to close: those of the credential, or all if nil.
    mutating func forget(_ credential: Credential?) -> [IdleConnection] {
        let forgotten = idle.filter { credential == nil || $0.connection.credential == credential }
        idle.removeAll { credential == nil || $0.connection.credential == credential }
        return forgotten.map(\.connection)
    }

    /// No connection is kept from here on.
    mutating func end() -> [IdleConnection] {
        isEnded = true
        return forget(nil)
    }
}
