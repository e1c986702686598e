/// A memory of proofs for one process: at most 100,000, which are those of a minute and a half; beyond, proofs are
/// refused.
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
        if sweeps.isDue(proofs.count, of: limit, at: now) {
            proofs = proofs.filter { $0.value > now }
            sweeps.swept(leaving: proofs.values)
        }
        guard proofs.count < limit else { throw Full() }
        proofs[proof] = expiry
        sweeps.added(expiry)
        return true
    }
}
