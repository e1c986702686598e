internal import SallyportBase

/// The check after an unclean close, and of a data file that is shorter than it says: LMDB's pages are walked before
/// anything is read through them, and the records are verified while the app works.
final class Recovery: Sendable {
    private let check: Task<Result<VerificationReport, StoreError>, Never>

    /// Walks the pages.
    ///
    /// - Parameter upkeep: learns that the check has begun, and whether it ended without finding damage.
    /// - Throws: ``StoreError/Code/damaged`` if reading or writing through the pages could go wrong.
    init(_ environment: Environment, path: String, ring: KeyRing, upkeep: Upkeep) throws(StoreError) {
        let data = "\(path)/\(Environment.fileName)"
        let report = try StoreCheck.run(environment, path: data, ring: nil)
        if let finding = report.findings.first(where: { $0.kind != .lostPages }) {
            throw StoreError(.damaged, "The data file \(data) is damaged. \(finding.message)")
        }
        upkeep.beginCheck()
        // Weak: a store that could not be opened releases its lock at once.
        check = Task(priority: .background) {
            @concurrent [weak upkeep] () async -> Result<VerificationReport, StoreError> in
            do throws(StoreError) {
                let report = try StoreCheck.run(environment, path: data, ring: ring)
                if report.findings.allSatisfy({ $0.kind == .lostPages }) { upkeep?.noteSound() }
                return .success(report)
            } catch {
                return .failure(error)
            }
        }
    }

    deinit { check.cancel() }

    func report() async throws(StoreError) -> VerificationReport { try await check.value.get() }
}

extension SecureStore {
    /// The result of the background check of all records that ``open(at:protectedBy:options:)`` starts if the last
    /// writer ended without closing the store; nil if it was closed.
    ///
    /// The pages were walked, and were sound, before `open` returned. If the store is closed before the check ends, or if
    /// the check finds damage, the next `open` checks again.
    ///
    /// - Throws: ``StoreError/Code/cancelled`` if the store was closed before the check ended; otherwise as
    ///   ``verify()``.
    public func verificationAfterUncleanClose() async throws(StoreError) -> VerificationReport? {
        try await recovery?.report()
    }
}
