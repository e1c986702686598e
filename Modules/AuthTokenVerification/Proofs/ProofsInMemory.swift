/// A memory of proofs for one process: at most 100,000, which are those of a minute and a half; beyond, proofs are
/// refused.
///
/// If the clock is set back, a proof that was forgotten while it was ahead is not taken for new: proofs are refused
/// that were made no later than the last such one. A restart of the process ends that.
public actor ProofsInMemory: ProofMemory {
    /// More than ``limit`` proofs came that are not over.
    public struct Full: Error {}

    /// 100,000.
    public static let limit = 100_000

    private var proofs: [String: Int64] = [:]
    private var sweeps = Sweeps()
    private let limit: Int
    private let clock: @Sendable () -> Int64

    /// Empty. What it remembers is lost with the process, and is not known to other processes.
    public init() { self.init(limit: Self.limit, clock: WallClock.seconds) }

    package init(limit: Int, clock: @escaping @Sendable () -> Int64) {
        self.limit = limit
        self.clock = clock
    }

    /// - Throws: ``Full``.
    public func remember(_ proof: String, until expiry: Int64) throws -> Bool {
        let now = clock()
        if let end = proofs[proof], end > now { return false }
        // It may have been seen and dropped.
        guard expiry > sweeps.floor else { return false }
        if sweeps.isDue(proofs.count, of: limit, at: now) { sweeps.drop(from: &proofs, at: now) { $0 } }
        guard proofs.count < limit else { throw Full() }
        proofs[proof] = expiry
        sweeps.added(expiry)
        return true
    }
}
