internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Where connections are counted: a session of URL loading, and how many it may have with one origin.
package struct ConnectionPlace: Sendable, Hashable {
    /// Names the session: what one has made, no other can use.
    package let session: String
    package let limit: Int

    package init(session: String, limit: Int) {
        self.session = session
        self.limit = max(1, limit)
    }
}

/// A connection that a server knows the user of, and nobody uses now.
struct IdleConnection: Sendable {
    let connection: BoundConnection
    /// As ``ConnectionFacts/number`` names it.
    let number: UInt64
    let credential: Credential
}

/// Who has which connections of one protection space, and who waits for one. Decides; others act.
struct LeaseBook<Waiter: Sendable>: Sendable {
    /// The most connections that are kept, of all sessions: some sessions are gone.
    static var limit: Int { 128 }

    /// Those of all sessions, the one that was used last at the end.
    private var idle: [(session: String, connection: IdleConnection)] = []
    private var busy: [String: Int] = [:]
    private var waiting: [String: [(ticket: UInt64, waiter: Waiter)]] = [:]
    private(set) var isEnded = false

    /// Counts one more in use.
    ///
    /// - Returns: false where as many are in use as may be.
    mutating func begin(at place: ConnectionPlace) -> Bool {
        guard busy[place.session, default: 0] < place.limit else { return false }
        busy[place.session, default: 0] += 1
        return true
    }

    /// - Parameter ticket: no other has it.
    mutating func wait(_ waiter: Waiter, with ticket: UInt64, at place: ConnectionPlace) {
        waiting[place.session, default: []].append((ticket, waiter))
    }

    /// - Returns: the waiter; nil where its turn has come already, and where it never waited.
    mutating func gaveUp(_ ticket: UInt64, at place: ConnectionPlace) -> Waiter? {
        guard let index = waiting[place.session]?.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        let waiter = waiting[place.session]?.remove(at: index).waiter
        if waiting[place.session]?.isEmpty == true { waiting[place.session] = nil }
        return waiter
    }

    /// One is not in use any more.
    ///
    /// - Returns: who goes on in its place, and counts as in use from here.
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

    /// One of the user's, the latest used first: it is the least likely to be closed.
    mutating func takeIdle(_ credential: Credential, at place: ConnectionPlace) -> IdleConnection? {
        let index = idle.lastIndex { $0.session == place.session && $0.connection.credential == credential }
        return index.map { idle.remove(at: $0).connection }
    }

    /// Keeps a connection for the next who comes.
    ///
    /// - Returns: what is to be closed in its place.
    mutating func keep(_ connection: IdleConnection, at place: ConnectionPlace) -> [IdleConnection] {
        guard !isEnded else { return [connection] }
        idle.append((place.session, connection))
        // It counts as in use until its load has ended, which takes none of those that idle by then.
        let surplus = trim(place, to: place.limit)
        return idle.count > Self.limit ? surplus + [idle.removeFirst().connection] : surplus
    }

    /// Makes room for a connection that is about to be made, and counts as in use.
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

    /// - Returns: what is to be closed: of the credential, of all where nil.
    mutating func forget(_ credential: Credential?) -> [IdleConnection] {
        let forgotten = idle.filter { credential == nil || $0.connection.credential == credential }
        idle.removeAll { credential == nil || $0.connection.credential == credential }
        return forgotten.map(\.connection)
    }

    /// Nothing is kept from here on.
    mutating func end() -> [IdleConnection] {
        isEnded = true
        return forget(nil)
    }
}
