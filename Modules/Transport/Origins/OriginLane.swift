/// What goes to one origin: how many exchanges go on, and which wait for one of them to end, first come, first served.
struct OriginLane<Waiter> {
    /// How many streams an origin that speaks HTTP/2 takes at once: as many as libcurl puts on one connection.
    static var streams: Int { 100 }

    private var active = 0
    /// By their tickets, which are drawn in ascending order. Whoever gave up leaves a gap.
    private var waiting: [UInt64: (waiter: Waiter, limit: Int)] = [:]
    private var firstTicket: UInt64 = 0
    private var nextTicket: UInt64 = 0
    /// Whether exchanges share a connection (HTTP/2); nil before the first handshake.
    private(set) var isMultiplexed: Bool?
    /// Connections that are open, used or not.
    private var connections = 0

    var isWaitedFor: Bool { !waiting.isEmpty }

    /// Nothing is known that is worth keeping.
    var isForgettable: Bool { active == 0 && waiting.isEmpty && connections == 0 }

    /// Lets an exchange go on, or makes it wait.
    ///
    /// - Parameter limit: at how many exchanges at once, itself included, it goes on; at least one always does.
    /// - Returns: the ticket where it waits.
    mutating func arrived(_ waiter: Waiter, limit: Int) -> UInt64? {
        if waiting.isEmpty, hasRoom(limit) {
            active += 1
            return nil
        }
        defer { nextTicket += 1 }
        waiting[nextTicket] = (waiter, limit)
        return nextTicket
    }

    /// An exchange that went on has ended.
    mutating func ended() { active -= 1 }

    /// One that waited wants nothing more.
    mutating func gaveUp(_ ticket: UInt64) { waiting[ticket] = nil }

    /// The next one that may go on now; it counts as such from here.
    mutating func nextAdmitted() -> Waiter? {
        while firstTicket < nextTicket {
            guard let (waiter, limit) = waiting[firstTicket] else {
                firstTicket += 1
                continue
            }
            guard hasRoom(limit) else { return nil }
            waiting[firstTicket] = nil
            firstTicket += 1
            active += 1
            return waiter
        }
        return nil
    }

    private func hasRoom(_ limit: Int) -> Bool {
        active < (isMultiplexed == true ? max(limit, Self.streams) : max(limit, 1))
    }

    // MARK: Connections

    mutating func learned(isMultiplexed: Bool) { self.isMultiplexed = isMultiplexed }

    mutating func opened() { connections += 1 }

    mutating func closed() { connections -= 1 }
}
