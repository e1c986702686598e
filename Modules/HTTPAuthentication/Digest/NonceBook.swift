/// The nonces of one protection space, and how often each was used: no count is given out twice for one nonce
/// (RFC 7616 §3.4, `nc`).
struct NonceBook: Sendable {
    /// Nonces that were replaced and may come again; the oldest is forgotten beyond so many.
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

    /// The next count of the nonce; nil once all are used, and a new nonce must be asked for.
    mutating func take() -> UInt32? {
        guard count < .max else { return nil }
        count += 1
        return count
    }
}
