/// The nonces of one protection space, and how often each was used: a count is used only once for each nonce (RFC 7616
/// §3.4, `nc`).
struct NonceBook: Sendable {
    /// How many replaced nonces are remembered, since they may come again.
    static let limit = 16

    private(set) var current: String
    private var count: UInt32
    private var earlier: [(nonce: String, count: UInt32)] = []

    init(_ nonce: String, count: UInt32 = 0) {
        current = nonce
        self.count = count
    }

    mutating func change(to nonce: String) {
        guard nonce != current else { return }
        earlier.append((current, count))
        current = nonce
        count = 0
        if let index = earlier.firstIndex(where: { $0.nonce == nonce }) { count = earlier.remove(at: index).count }
        if earlier.count > Self.limit { earlier.removeFirst() }
    }

    /// The next count of the nonce; nil once all are used, so that a new nonce is needed.
    mutating func take() -> UInt32? {
        guard count < .max else { return nil }
        count += 1
        return count
    }
}
