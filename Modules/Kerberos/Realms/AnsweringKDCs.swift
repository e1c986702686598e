internal import SallyportCore

/// The KDC of each realm that answered last. It is asked first: a ticket takes several messages within one time limit,
/// and each of them would wait again for the silent KDCs that come before it.
///
/// It is forgotten after a while, so that the administrator's order, which may prefer a near KDC, is tried again.
actor AnsweringKDCs {
    /// The most realms; beyond that, another one is forgotten, whose KDCs are then tried in their order.
    static let limit = 64
    /// How long a KDC is asked first, however often it answers.
    static let duration = Duration.seconds(600)

    private struct Answering {
        let server: Endpoint
        /// Its first answer since the order was tried.
        let since: ContinuousClock.Instant
    }

    private var last: [String: Answering] = [:]

    /// The realm's KDCs, the one that answered last before the others. One that is no longer listed is not used.
    func ordered(_ servers: [Endpoint], of realm: String, at now: ContinuousClock.Instant = .now) -> KDCOrder {
        guard let last = current(of: realm, at: now), servers.contains(last) else {
            return KDCOrder(servers: servers, startsWithAnswering: false)
        }
        return KDCOrder(servers: [last] + servers.filter { $0 != last }, startsWithAnswering: true)
    }

    func answered(_ server: Endpoint, of realm: String, at now: ContinuousClock.Instant = .now) {
        // Each answer would prolong its time otherwise.
        if current(of: realm, at: now) == server { return }
        if last[realm] == nil, last.count >= Self.limit, let other = last.keys.first { last[other] = nil }
        last[realm] = Answering(server: server, since: now)
    }

    /// It is asked in its place in the order again.
    func failed(_ server: Endpoint, of realm: String) {
        if last[realm]?.server == server { last[realm] = nil }
    }

    private func current(of realm: String, at now: ContinuousClock.Instant) -> Endpoint? {
        guard let known = last[realm], now - known.since < Self.duration else { return nil }
        return known.server
    }
}

/// The KDCs of a realm in the order in which they are tried, and how they share the time.
struct KDCOrder: Sendable {
    let servers: [Endpoint]
    /// Whether the first one answered last.
    let startsWithAnswering: Bool

    /// The time for one KDC, of what is left: an equal part, so that a silent one leaves time for those after it. One
    /// that answered before is likely to answer again, and has half of it at least.
    func share(of rest: Duration, at index: Int) -> Duration {
        let equal = servers.count - index
        return rest / (startsWithAnswering && index == 0 ? min(equal, 2) : equal)
    }
}
