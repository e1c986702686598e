/// The connections of a pool over which no exchange goes. The one that was used last is used next. A value.
struct IdleConnections {
    /// How many are kept at most.
    private let limit: Int
    private var stacks: [Origin: [HTTP1Connection]] = [:]
    private(set) var count = 0

    init(limit: Int) { self.limit = limit }

    var all: [HTTP1Connection] { stacks.values.flatMap { $0 } }

    /// - Returns: false if there are too many already.
    mutating func keep(_ connection: HTTP1Connection) -> Bool {
        guard count < limit else { return false }
        count += 1
        stacks[connection.origin, default: []].append(connection)
        return true
    }

    mutating func take(to origin: Origin) -> HTTP1Connection? {
        guard count > 0, let index = stacks.index(forKey: origin), let connection = stacks.values[index].popLast()
        else {
            return nil
        }
        count -= 1
        return connection
    }

    mutating func remove(_ connection: HTTP1Connection) {
        guard let index = stacks.index(forKey: connection.origin),
            let place = stacks.values[index].firstIndex(where: { $0 === connection })
        else { return }
        stacks.values[index].remove(at: place)
        if stacks.values[index].isEmpty { stacks.remove(at: index) }
        count -= 1
    }

    mutating func removeAll() -> [HTTP1Connection] {
        defer { (stacks, count) = ([:], 0) }
        return all
    }
}
