/// The entries that a list of the audit trail shows, of as many chains as there are. A fleet may have thousands, and
/// each may have as many entries that match as the list takes: what is beyond the limit is dropped with each chain.
struct AuditSelection: Sendable {
    private let limit: Int
    /// Whether the list begins at a number and goes on from there; otherwise it has what is newest.
    private let isFromStart: Bool
    /// By time; of the same millisecond, by chain and number. Never more than the limit.
    private(set) var entries: [AuditEntry] = []

    init(of query: AuditQuery) { (limit, isFromStart) = (query.limit, query.after != nil) }

    /// - Parameter found: of one chain, at most as many as the limit.
    mutating func add(_ found: [AuditEntry]) {
        entries += found
        entries.sort { ($0.time, $0.chain, $0.number) < ($1.time, $1.chain, $1.number) }
        let excess = entries.count - limit
        guard excess > 0 else { return }
        if isFromStart { entries.removeLast(excess) } else { entries.removeFirst(excess) }
    }
}
