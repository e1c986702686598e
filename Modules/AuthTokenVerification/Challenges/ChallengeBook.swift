/// Challenges and who used them. A value without clock and lock; times are Unix seconds.
struct ChallengeBook: Sendable {
    private struct Use {
        var token: String
        var expiry: Int64
    }

    /// Of challenges that are not used, and again of those that are.
    let limit: Int
    private var given: [String: Int64] = [:]
    /// In the order in which they were given. Those that are used or forgotten stand here until their turn comes, or until
    /// they are more than those that are not.
    private var order: [String] = []
    private var oldest = 0
    private var used: [String: Use] = [:]
    private var sweepSize = 1024

    init(limit: Int) { self.limit = limit }

    /// How many places are taken in memory.
    var places: Int { order.count + used.count }

    /// Where there is no room the oldest makes it: anybody may ask for challenges, and nobody may keep others from one.
    mutating func remember(_ challenge: String, until expiry: Int64, at now: Int64) {
        guard used[challenge] == nil else { return }
        if given.updateValue(expiry, forKey: challenge) == nil { order.append(challenge) }
        while oldest < order.count, given.count > limit || given[order[oldest]].map({ $0 <= now }) ?? true {
            given[order[oldest]] = nil
            oldest += 1
        }
        guard order.count > max(1024, 2 * given.count) else { return }
        order = order[oldest...].filter { given[$0] != nil }
        oldest = 0
    }

    /// - Returns: nil where no more uses can be remembered: the token must not be accepted.
    mutating func use(_ challenge: String, by token: String, until expiry: Int64, at now: Int64) -> ChallengeUse? {
        if let use = used[challenge], use.expiry > now { return use.token == token ? .again : .taken }
        guard let end = given[challenge], end > now else { return .unknown }
        sweep(at: now)
        guard used.count < limit else { return nil }
        given[challenge] = nil
        used[challenge] = Use(token: token, expiry: expiry)
        return .first
    }

    mutating func forget(_ challenge: String) {
        given[challenge] = nil
        used[challenge] = nil
    }

    /// Looks at all uses when they are twice as many as after the last look.
    private mutating func sweep(at now: Int64) {
        guard used.count >= min(sweepSize, limit) else { return }
        used = used.filter { $0.value.expiry > now }
        sweepSize = max(1024, used.count * 2)
    }
}
