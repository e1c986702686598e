/// Which challenges were used, and by which tokens. A value without clock and lock; times are Unix seconds.
struct ChallengeBook: Sendable {
    private struct Use {
        /// Nil if the challenge was ended.
        var token: String?
        var expiry: Int64
    }

    /// The greatest number of challenges that are remembered.
    let limit: Int
    private var used: [String: Use] = [:]
    private var sweeps = Sweeps()

    init(limit: Int) { self.limit = limit }

    /// How many places are taken in memory.
    var places: Int { used.count }

    /// - Returns: nil if there is no room to remember the use: the token must not be accepted.
    mutating func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool, at now: Int64
    ) -> ChallengeUse? {
        if let use = used[challenge], use.expiry > now {
            guard let user = use.token else { return .unknown }
            return user == token ? .again : .taken
        }
        guard !isOver else { return .unknown }
        // It may have been used and dropped.
        guard expiry > sweeps.floor else { return .unknown }
        return put(Use(token: token, expiry: expiry), for: challenge, at: now) ? .first : nil
    }

    /// - Returns: false if there is no room to remember it.
    mutating func end(_ challenge: String, until expiry: Int64, at now: Int64) -> Bool {
        put(Use(token: nil, expiry: expiry), for: challenge, at: now)
    }

    private mutating func put(_ use: Use, for challenge: String, at now: Int64) -> Bool {
        if used[challenge] == nil {
            sweep(at: now)
            guard used.count < limit else { return false }
        }
        used[challenge] = use
        sweeps.added(use.expiry)
        return true
    }

    private mutating func sweep(at now: Int64) {
        guard sweeps.isDue(used.count, of: limit, at: now) else { return }
        sweeps.drop(from: &used, at: now) { $0.expiry }
    }
}
