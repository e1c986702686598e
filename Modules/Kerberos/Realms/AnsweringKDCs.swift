internal import SallyportCore

/// The KDC of each realm that answered last. It is asked first: a ticket takes several messages within one time limit,
/// and each of them would wait again for the silent KDCs that come before it.
actor AnsweringKDCs {
    /// The most realms; beyond that, another one is forgotten, whose KDCs are then tried in their order.
    static let limit = 64

    private var last: [String: Endpoint] = [:]

    /// The realm's KDCs, the one that answered last before the others. One that is no longer listed is not used.
    func ordered(_ servers: [Endpoint], of realm: String) -> [Endpoint] {
        guard let last = last[realm], servers.contains(last) else { return servers }
        return [last] + servers.filter { $0 != last }
    }

    func answered(_ server: Endpoint, of realm: String) {
        if last[realm] == nil, last.count >= Self.limit, let other = last.keys.first { last[other] = nil }
        last[realm] = server
    }

    /// It is asked in its place in the order again.
    func failed(_ server: Endpoint, of realm: String) {
        if last[realm] == server { last[realm] = nil }
    }
}
