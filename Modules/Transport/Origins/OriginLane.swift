/// The exchanges with one origin: how many are running, and which wait for one of them to end: the most urgent first,
/// and among equals first come, first served.
struct OriginLane<Waiter> {
    /// The number of concurrent streams to an HTTP/2 origin: as many as libcurl puts on one connection.
    static var streams: Int { 100 }

    private var active = 0
    /// The waiting members by urgency; empty rows are removed.
    private var rows: [Urgency: WaitingRow<Waiter>] = [:]
    private var nextNumber: UInt64 = 0
    /// Whether exchanges share a connection (HTTP/2); nil before the first handshake.
    private(set) var isMultiplexed: Bool?
    /// The number of open connections, used or idle.
    private var connections = 0

    var isWaitedFor: Bool { !rows.isEmpty }

    /// There is no state worth keeping.
    var isForgettable: Bool { active == 0 && rows.isEmpty && connections == 0 }

    /// Admits an exchange, or makes it wait.
    ///
    /// - Parameter limit: the number of concurrent exchanges, including this one, up to which it is admitted; at least
    ///   one is.
    /// - Returns: the ticket if it waits.
    mutating func arrived(_ waiter: Waiter, limit: Int, urgency: Urgency = .standard) -> OriginTicket? {
        if rows.isEmpty, hasRoom(limit) {
            active += 1
            return nil
        }
        defer { nextNumber += 1 }
        rows[urgency, default: WaitingRow(from: nextNumber)].append(waiter, limit: limit, number: nextNumber)
        return OriginTicket(urgency: urgency, number: nextNumber)
    }

    /// An admitted exchange has ended.
    mutating func ended() { active -= 1 }

    /// A waiting exchange was given up, or waits elsewhere.
    mutating func gaveUp(_ ticket: OriginTicket) {
        rows[ticket.urgency]?.remove(ticket.number)
        if rows[ticket.urgency]?.isEmpty == true { rows[ticket.urgency] = nil }
    }

    /// The next waiting exchange that may run now; it counts as running from here on.
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

/// The position of a waiting exchange.
struct OriginTicket: Equatable {
    var urgency: Urgency
    var number: UInt64
}

/// A priority from 0 to 1, in hundredths.
struct Urgency: Hashable, Comparable {
    private let hundredths: UInt8

    static let standard = Urgency(0.5)

    /// Values outside 0 to 1 are clamped, and NaN counts as the default.
    init(_ priority: Double) { hundredths = priority.isNaN ? 50 : UInt8((min(max(priority, 0), 1) * 100).rounded()) }

    static func < (left: Urgency, right: Urgency) -> Bool { left.hundredths < right.hundredths }
}

/// The waiting members with one urgency, in order.
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

    /// The number of concurrent exchanges up to which the first one is admitted.
    mutating func firstLimit() -> Int? {
        while first <= last {
            if let limit = waiting[first]?.limit { return limit }
            first += 1
        }
        return nil
    }

    mutating func removeFirst() -> Waiter? { waiting.removeValue(forKey: first)?.waiter }
}
