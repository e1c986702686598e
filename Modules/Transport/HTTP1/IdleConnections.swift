/// The connections of a pool over which no exchange goes. The one that was used last is used next. A value.
struct IdleConnections {
    /// How many are kept at most.
    private let limit: Int
    private var stacks = OriginTable<[HTTP1Connection]>()
    private(set) var count = 0

    init(limit: Int) { self.limit = limit }

    var all: [HTTP1Connection] { stacks.values.flatMap { $0 } }

    func hasConnection(to origin: Origin) -> Bool { count > 0 && stacks[origin]?.isEmpty == false }

    /// - Returns: false if there are too many already.
    mutating func keep(_ connection: HTTP1Connection) -> Bool {
        guard count < limit else { return false }
        count += 1
        stacks.change(connection.origin, from: []) { $0.append(connection) }
        return true
    }

    mutating func take(to origin: Origin) -> HTTP1Connection? {
        guard count > 0, let connection = stacks.change(origin, { $0.popLast() }) ?? nil else { return nil }
        count -= 1
        // An empty stack is left for the connection's return.
        if stacks.count > limit, stacks[origin]?.isEmpty == true { stacks.remove(origin) }
        return connection
    }

    mutating func remove(_ connection: HTTP1Connection) {
        let origin = connection.origin
        guard let place = stacks[origin]?.firstIndex(where: { $0 === connection }) else { return }
        stacks.change(origin) { _ = $0.remove(at: place) }
        if stacks[origin]?.isEmpty == true { stacks.remove(origin) }
        count -= 1
    }

    mutating func removeAll() -> [HTTP1Connection] {
        defer { (stacks, count) = (OriginTable(), 0) }
        return all
    }
}
