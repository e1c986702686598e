/// Values by origin. Most calls are for the origin of the call before, which is found without hashing it.
struct OriginTable<Value> {
    private var entries: [(origin: Origin, value: Value)] = []
    private var places: [Origin: Int] = [:]
    /// The place of the entry that was changed last, if that still exists.
    private var last = 0

    var count: Int { entries.count }
    var values: [Value] { entries.map(\.value) }

    subscript(origin: Origin) -> Value? { place(of: origin).map { entries[$0].value } }

    private func place(of origin: Origin) -> Int? {
        last < entries.count && entries[last].origin == origin ? last : places[origin]
    }

    /// - Returns: what `body` returns; nil if the origin has no value.
    mutating func change<Result>(_ origin: Origin, _ body: (inout Value) -> Result) -> Result? {
        guard let place = place(of: origin) else { return nil }
        last = place
        return body(&entries[place].value)
    }

    /// - Parameter initial: the value of an origin that has none.
    mutating func change<Result>(
        _ origin: Origin, from initial: @autoclosure () -> Value, _ body: (inout Value) -> Result
    ) -> Result {
        let place = place(of: origin) ?? insert(origin, initial())
        last = place
        return body(&entries[place].value)
    }

    private mutating func insert(_ origin: Origin, _ value: Value) -> Int {
        places[origin] = entries.count
        entries.append((origin, value))
        return entries.count - 1
    }

    mutating func remove(_ origin: Origin) {
        guard let place = places.removeValue(forKey: origin) else { return }
        let moved = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = moved
        places[moved.origin] = place
    }
}
