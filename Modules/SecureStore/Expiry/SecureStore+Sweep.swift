public import FoundationEssentials

extension SecureStore {
    /// How many records one transaction of a sweep removes at most.
    private static let sweepBatch = 256

    /// Removes the records that have expired; gives how many.
    ///
    /// Costs in proportion to what expires, however large the store is: expired records stand first in an index. In
    /// transactions of at most 256 records; cancelling the task ends it between two.
    ///
    /// - Throws: as ``write(_:)``; `CancellationError`.
    @discardableResult
    public func sweep(asOf date: Date = Date()) async throws -> Int {
        let now = StoreTime.milliseconds(date)
        var removed = 0
        while true {
            try Task.checkCancellation()
            let batch = try await write { try $0.sweep(asOf: now, limit: Self.sweepBatch) }
            removed += batch.removed
            guard batch.seen == Self.sweepBatch else { return removed }
        }
    }

    /// Sweeps every `interval`, until its task is cancelled or the store closes. Lives as long as the task that calls.
    ///
    /// - Throws: as ``sweep(asOf:)``, but for the end by cancellation.
    public func run(sweepingEvery interval: Duration = .seconds(60)) async throws {
        while !Task.isCancelled {
            do { try await sweep() } catch let error as StoreError where error.code == .closed {
                return
            } catch is CancellationError { return }
            do { try await Task.sleep(for: interval) } catch { return }
        }
    }
}
