extension Writer {
    /// One writer's part of a transaction: it runs against the open tree and is then informed of the result.
    struct Part: Sendable {
        /// Prepares the part; false if it failed by itself, which ends only this part. Runs again, for this part alone,
        /// if the shared transaction could not be committed.
        let prepare: @Sendable (Tree, inout WriteSet) -> Bool
        /// Called once the shared transaction is durable, or has failed.
        let finish: @Sendable (StoreError?) -> Void
    }
}

extension Writer.Part {
    /// A part that makes the changes of `body`.
    ///
    /// - Parameter finish: receives the result of `body` once the changes are durable, or its error, or the error
    ///   because of which they were not kept.
    static func transaction<Value: Sendable>(
        ring: KeyRing, _ body: @escaping @Sendable (WriteTransaction) throws -> Value,
        finish: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> Writer.Part {
        let run = Run<Value>()
        return Writer.Part(
            prepare: { tree, changes in
                let transaction = WriteTransaction(tree: tree, ring: ring, changes: changes)
                defer { transaction.end() }
                let result = Result { try body(transaction) }
                run.result = result
                guard case .success = result else { return false }
                changes = transaction.changes
                return true
            },
            finish: { failure in
                switch (run.result, failure) {
                case (.failure(let error)?, _): finish(.failure(error))
                case (_, let failure?): finish(.failure(failure))
                case (.success(let value)?, nil): finish(.success(value))
                case (nil, nil): finish(.failure(StoreError(.internalFailure, "The writer did not run.")))
                }
            })
    }

    /// A part that changes no records.
    ///
    /// - Parameter fail: called instead of `body` if no transaction could begin.
    static func betweenTransactions(
        _ body: @escaping @Sendable () -> Void, orElse fail: @escaping @Sendable (StoreError) -> Void
    ) -> Writer.Part {
        let run = Run<Bool>()
        return Writer.Part(
            prepare: { _, _ in
                run.result = .success(true)
                body()
                return false
            },
            finish: { failure in
                guard run.result == nil else { return }
                fail(failure ?? StoreError(.internalFailure, "The writer did not run."))
            })
    }

    /// The result of the last run of a part's closure.
    private final class Run<Value>: @unchecked Sendable {
        // SAFETY: only the writer's thread prepares and finishes parts.
        var result: Result<Value, any Error>?
    }
}
