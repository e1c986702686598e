extension SecureStore {
    /// As ``write(isolation:_:)``, without waiting: queues the change for the writer thread and returns.
    ///
    /// - Parameter finish: called once, on the writer thread, when the change is durable or has failed; at once if the
    ///   store is closed. Must not block.
    package func submit<Value: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Value,
        finish: @escaping @Sendable (Result<Value, any Error>) -> Void = { _ in }
    ) {
        guard let writer else {
            return finish(.failure(StoreError(.readOnly, "The store was opened read-only.")))
        }
        guard !writer.enqueue(Writer.Part.transaction(ring: ring, body, finish: finish)) else { return }
        finish(.failure(StoreError(.closed, "The store is closed.")))
    }
}
