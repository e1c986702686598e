public import FoundationEssentials
internal import SallyportBase

extension SecureStore {
    /// The most records that one transaction of a sweep removes.
    private static let sweepBatch = 256

    /// Removes the expired records and returns their number.
    ///
    /// The cost depends on the number of expired records, not on the size of the store: an index lists them first.
    /// Works in transactions of at most 256 records; cancelling the task ends it between two of them.
    ///
    /// - Throws: as ``write(isolation:_:)``; `CancellationError`.
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

    /// Sweeps every `interval`, until its task is cancelled or the store closes. Does not return before that.
    ///
    /// - Throws: as ``sweep(asOf:)``, except on cancellation.
    public func run(sweepingEvery interval: Duration = .seconds(60)) async throws {
        while !Task.isCancelled {
            do { try await sweep() } catch let error as StoreError where error.code == .closed {
                return
            } catch is CancellationError { return }
            do { try await (ContinuousClock.now + interval).wait() } catch { return }
        }
    }
}
