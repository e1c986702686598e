internal import Crypto

/// The published keys as last fetched, and when to ask again. A value without clock and I/O; times are Unix seconds.
struct KeyCache: Sendable {
    /// How long keys count without a look: the gateway publishes a new one an hour before it signs.
    static let maximumAge: Int64 = 600
    /// How long they still count while they cannot be fetched: a day.
    static let staleLimit: Int64 = 86_400
    /// The pause between two requests, even for unknown keys: tokens cannot cause a request each.
    static let pause: Int64 = 10

    /// What is known of a key.
    enum Known: Sendable {
        case key(P256.Signing.PublicKey)
        /// The published keys are known, and it is none of them.
        case unknown
        /// It is not known whether there is such a key.
        case unavailable

        var isKey: Bool { if case .key = self { true } else { false } }
    }

    private var keys: [String: P256.Signing.PublicKey] = [:]
    private var fetched: Int64?
    private var tried: Int64?
    /// Whether the last try failed: a key that is not known may have been published since the one before.
    private var hasFailed = false

    /// - Returns: what counts without asking, and whether it is time to ask.
    func look(for id: String, at now: Int64) -> (known: Known, isDue: Bool) {
        let mayTry = tried.map { Self.isDue($0, Self.pause, now) } ?? true
        guard let fetched, now - fetched < Self.staleLimit else { return (.unavailable, mayTry) }
        guard let key = keys[id] else { return (hasFailed ? .unavailable : .unknown, mayTry) }
        return (.key(key), mayTry && Self.isDue(fetched, Self.maximumAge, now))
    }

    mutating func received(_ new: [String: P256.Signing.PublicKey], at now: Int64) {
        (keys, fetched, tried, hasFailed) = (new, now, now, false)
    }

    mutating func failed(at now: Int64) {
        (tried, hasFailed) = (now, true)
        // The clock was turned back since. How old the keys are is not known: from now on they count as those of which
        // it is time to ask again, so that they do not count for longer than a day.
        if let fetched, now < fetched { self.fetched = now - Self.maximumAge }
    }

    /// A clock that was turned back makes it time to ask.
    private static func isDue(_ then: Int64, _ length: Int64, _ now: Int64) -> Bool {
        now < then || now - then >= length
    }
}
