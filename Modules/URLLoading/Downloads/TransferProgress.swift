/// How far a transfer has come.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes so far.
    public let completed: Int64
    /// Bytes of the whole; nil if the server does not say.
    public let total: Int64?

    /// - Parameters:
    ///   - completed: bytes so far.
    ///   - total: bytes of the whole; nil if it is not known.
    public init(completed: Int64, total: Int64?) {
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1; nil if the total is not known.
    public var fraction: Double? {
        guard let total else { return nil }
        return total <= 0 ? 1 : min(1, Double(completed) / Double(total))
    }
}
