/// Which control gateways a relay follows: two of those that it knows, other ones in place of those that fail. A value.
struct ControlChoice: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// HOST:PORT.
    var addresses: [String]
    private var taken: [Int: String] = [:]
    private var failed: [String: Instant] = [:]

    init(_ addresses: [String]) { self.addresses = addresses }

    /// Takes a gateway for a place among those that are followed: one of those that are free, by chance; one that failed
    /// only if it failed longest ago, and there is no other.
    ///
    /// - Returns: nil if none is free.
    mutating func take(_ place: Int) -> String? {
        let free = addresses.filter { !taken.values.contains($0) }
        let fresh = free.filter { failed[$0] == nil }
        let choice = fresh.randomElement() ?? free.min { failed[$0] ?? .now < failed[$1] ?? .now }
        taken[place] = choice
        return choice
    }

    /// All gateways, those that are followed first, each of the two parts in an order by chance.
    func inOrder() -> [String] {
        let followed = Set(taken.values)
        return addresses.filter(followed.contains).shuffled() + addresses.filter { !followed.contains($0) }.shuffled()
    }

    /// Gives the gateway of a place back: it could not be followed any longer.
    mutating func failed(_ place: Int, at now: Instant) {
        if let address = taken.removeValue(forKey: place) { failed[address] = now }
        if Set(addresses).isSubset(of: failed.keys) { return }
        failed = failed.filter { addresses.contains($0.key) && $0.value.duration(to: now) < .seconds(10) }
    }
}
