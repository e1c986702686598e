internal import SallyportEventLoop

/// A connection that may wait for its next exchange.
protocol IdleConnection: AnyObject {
    var origin: Origin { get }
    /// When its last exchange ended.
    var idleSince: LoopInstant { get }
}

/// The connections of a pool over which no exchange goes. The one that was used last is used next. A value.
struct IdleConnections<Connection: IdleConnection> {
    /// How many are kept at most.
    private let limit: Int
    private var stacks = OriginTable<[Connection]>()
    private(set) var count = 0

    init(limit: Int) { self.limit = limit }

    var all: [Connection] { stacks.values.flatMap { $0 } }

    func hasConnection(to origin: Origin) -> Bool { count > 0 && stacks[origin]?.isEmpty == false }

    /// - Returns: the connection that has idled longest, if there are too many with the new one: it is no longer kept.
    mutating func keep(_ connection: Connection) -> Connection? {
        let displaced = count < limit ? nil : removeOldest()
        count += 1
        stacks.change(connection.origin, from: []) { $0.append(connection) }
        return displaced
    }

    /// Of each stack, the first has idled longest.
    private mutating func removeOldest() -> Connection? {
        let oldest = stacks.values.compactMap(\.first).min { $0.idleSince < $1.idleSince }
        if let oldest { remove(oldest) }
        return oldest
    }

    mutating func take(to origin: Origin) -> Connection? {
        guard count > 0, let connection = stacks.change(origin, { $0.popLast() }) ?? nil else { return nil }
        count -= 1
        // An empty stack is left for the connection's return.
        if stacks.count > limit, stacks[origin]?.isEmpty == true { stacks.remove(origin) }
        return connection
    }

    mutating func remove(_ connection: Connection) {
        let origin = connection.origin
        guard let place = stacks[origin]?.firstIndex(where: { $0 === connection }) else { return }
        stacks.change(origin) { _ = $0.remove(at: place) }
        if stacks[origin]?.isEmpty == true { stacks.remove(origin) }
        count -= 1
    }

    mutating func removeAll() -> [Connection] {
        defer { (stacks, count) = (OriginTable(), 0) }
        return all
    }
}
