/// Which epochs of an instance were used, and up to which the store knows of them. A value.
///
/// No epoch is signed before the store holds one that is not smaller. What the store holds is ahead by a reserve, so that
/// most configurations are signed without a write; after a crash the next epoch follows the whole reserve.
struct EpochLedger: Sendable, Hashable {
    /// So many epochs are written ahead: a minute's, since an epoch is at least the time in milliseconds.
    static let reserve: Int64 = 60_000

    /// The newest that was signed, or may have been before a restart.
    private(set) var last: Int64
    private var kept: Int64

    /// - Parameter kept: what the store holds.
    init(kept: Int64) { (last, self.kept) = (kept, kept) }

    /// The next epoch: above every earlier one, and at least the Unix time in milliseconds.
    mutating func next(at milliseconds: Int64) -> Int64 {
        last = max(last + 1, milliseconds)
        return last
    }

    /// What the store must hold before `epoch` is signed; nil where it holds enough.
    func reservation(for epoch: Int64) -> Int64? { epoch <= kept ? nil : epoch + Self.reserve }

    /// The store holds `reservation` from now on.
    mutating func keep(_ reservation: Int64) { kept = max(kept, reservation) }
}
