/// What goes to one origin: how many exchanges go on, and which wait for one of them to end: the most urgent first, and
/// among equals first come, first served.
struct OriginLane<Waiter> {
    /// How many streams an origin that speaks HTTP/2 takes at once: as many as libcurl puts on one connection.
    static var streams: Int { 100 }

    private var active = 0
    /// The waiting members by urgency; empty rows are removed.
    private var rows: [Urgency: WaitingRow<Waiter>] = [:]
    private var nextNumber: UInt64 = 0
    /// Whether exchanges share a connection (HTTP/2); nil before the first handshake.
    private(set) var isMultiplexed: Bool?
    /// Connections that are open, used or not.
    private var connections = 0

    var isWaitedFor: Bool { !rows.isEmpty }

    /// Nothing is known that is worth keeping.
    var isForgettable: Bool { active == 0 && rows.isEmpty && connections == 0 }

    /// Lets an exchange go on, or makes it wait.
    ///
    /// - Parameter limit: at how many exchanges at once, itself included, it goes on; at least one always does.
    /// - Returns: the ticket where it waits.
    mutating func arrived(_ waiter: Waiter, limit: Int, urgency: Urgency = .standard) -> OriginTicket? {
        if rows.isEmpty, hasRoom(limit) {
            active += 1
            return nil
        }
        defer { nextNumber += 1 }
        rows[urgency, default: WaitingRow(from: nextNumber)].append(waiter, limit: limit, number: nextNumber)
        return OriginTicket(urgency: urgency, number: nextNumber)
    }

    /// An exchange that went on has ended.
    mutating func ended() { active -= 1 }

    /// One that waited wants nothing more, or waits elsewhere.
    mutating func gaveUp(_ ticket: OriginTicket) {
        rows[ticket.urgency]?.remove(ticket.number)
        if rows[ticket.urgency]?.isEmpty == true { rows[ticket.urgency] = nil }
    }

    /// The next one that may go on now; it counts as such from here.
    mutating func nextAdmitted() -> Waiter? {
        guard let urgency = rows.count == 1 ? rows.keys.first : rows.keys.max(),
            let limit = rows[urgency]?.firstLimit(), hasRoom(limit), let waiter = rows[urgency]?.removeFirst()
        else { return nil }
        if rows[urgency]?.isEmpty == true { rows[urgency] = nil }
        active += 1
        return waiter
    }

    private func hasRoom(_ limit: Int) -> Bool {
        active < (isMultiplexed == true ? max(limit, Self.streams) : max(limit, 1))
    }

    // MARK: Connections

    mutating func learned(isMultiplexed: Bool) { self.isMultiplexed = isMultiplexed }

    mutating func opened() { connections += 1 }

    mutating func closed() { connections -= 1 }
}

/// Where an exchange stands that waits.
struct OriginTicket: Equatable {
    var urgency: Urgency
    var number: UInt64
}

/// A priority from 0 to 1, in hundredths.
struct Urgency: Hashable, Comparable {
    private let hundredths: UInt8

    static let standard = Urgency(0.5)

    /// What is no number from 0 to 1 counts as the nearest, and what is no number at all as the standard.
    init(_ priority: Double) { hundredths = priority.isNaN ? 50 : UInt8((min(max(priority, 0), 1) * 100).rounded()) }

    static func < (left: Urgency, right: Urgency) -> Bool { left.hundredths < right.hundredths }
}

/// Those that wait with one urgency, in their order.
struct WaitingRow<Waiter> {
    /// By their numbers, which are drawn in ascending order. A member that gives up leaves a gap.
    private var waiting: [UInt64: (waiter: Waiter, limit: Int)] = [:]
    private var first: UInt64
    private var last: UInt64

    init(from number: UInt64) { (first, last) = (number, number) }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ waiter: Waiter, limit: Int, number: UInt64) {
        waiting[number] = (waiter, limit)
        last = number
    }

    mutating func remove(_ number: UInt64) { waiting[number] = nil }

    /// At how many exchanges at once the first one goes on.
    mutating func firstLimit() -> Int? {
        while first <= last {
            if let limit = waiting[first]?.limit { return limit }
            first += 1
        }
        return nil
    }

    mutating func removeFirst() -> Waiter? { waiting.removeValue(forKey: first)?.waiter }
}
