/// Which epochs of an instance were used, and which are reserved in the store. A value.
///
/// An epoch is signed only once the store holds an equal or greater one. Epochs are reserved in the store in advance,
/// so that most configurations are signed without a write. After a crash, the next epoch follows the whole reserve.
struct EpochLedger: Sendable, Hashable {
    /// The number of epochs reserved in advance: those of a minute, since an epoch is at least the time in
    /// milliseconds.
    static let reserve: Int64 = 60_000

    /// The newest epoch that was signed, or may have been signed before a restart.
    private(set) var last: Int64
    private var kept: Int64

    /// - Parameter kept: the epoch in the store.
    init(kept: Int64) { (last, self.kept) = (kept, kept) }

    /// The next epoch: greater than every earlier one, and at least the Unix time in milliseconds.
    mutating func next(at milliseconds: Int64) -> Int64 {
        last = max(last + 1, milliseconds)
        return last
    }

    /// The epoch that the store must hold before `epoch` is signed; nil if the one in the store is great enough.
    func reservation(for epoch: Int64) -> Int64? { epoch <= kept ? nil : epoch + Self.reserve }

    /// Records that the store holds `reservation`.
    mutating func keep(_ reservation: Int64) { kept = max(kept, reservation) }
}
