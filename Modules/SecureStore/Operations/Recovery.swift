internal import SallyportBase

/// What follows an unclean close, and where the data file is shorter than it says: LMDB's pages are walked before anything is read through them, and the records are
/// verified beside what the app does.
final class Recovery: Sendable {
    private let check: Task<Result<VerificationReport, StoreError>, Never>

    /// Walks the pages.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where reading or writing through them could go wrong.
    init(_ environment: Environment, path: String, ring: KeyRing) throws(StoreError) {
        let data = "\(path)/\(Environment.fileName)"
        let report = try StoreCheck.run(environment, path: data, ring: nil)
        if let finding = report.findings.first(where: { $0.kind != .lostPages }) {
            throw StoreError(.damaged, "The store's data file is damaged. \(finding.message)")
        }
        check = Task(priority: .background) { @concurrent () async -> Result<VerificationReport, StoreError> in
            do throws(StoreError) {
                return .success(try StoreCheck.run(environment, path: data, ring: ring))
            } catch {
                return .failure(error)
            }
        }
    }

    deinit { check.cancel() }

    func report() async throws(StoreError) -> VerificationReport { try await check.value.get() }
}

extension SecureStore {
    /// What the records' check found that ``open(at:protectedBy:options:)`` begins, in the background, after the last
    /// writer was ended without closing the store; nil where it was closed.
    ///
    /// The pages were walked before `open` returned, and were sound.
    ///
    /// - Throws: ``StoreError/Code/cancelled`` where the store was closed before the check was done, and as
    ///   ``verify()``.
    public func verificationAfterUncleanClose() async throws(StoreError) -> VerificationReport? {
        try await recovery?.report()
    }
}
