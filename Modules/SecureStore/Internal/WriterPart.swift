extension Writer {
    /// One writer's part: runs against the open tree, and is told how it ended.
    struct Part: Sendable {
        /// Prepares the part; false where it failed by itself, which ends only this part. Runs again, for this part
        /// alone, where the transaction that it shared could not be committed.
        let prepare: @Sendable (Tree, inout WriteSet) -> Bool
        /// Called once the shared transaction is durable, or has failed.
        let finish: @Sendable (StoreError?) -> Void
    }
}

extension Writer.Part {
    /// A part that changes the store as `body` says.
    ///
    /// - Parameter finish: is given what `body` returned, once that is durable, or what it threw, or why it was not
    ///   kept.
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

    /// What a part's closure came to, of the last time that it ran.
    private final class Run<Value>: @unchecked Sendable {
        // SAFETY: the writer's thread alone prepares parts and finishes them.
        var result: Result<Value, any Error>?
    }
}
