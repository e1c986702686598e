/// Runs `operation` until the deadline at the latest: its task is cancelled then.
///
/// - Returns: nil where the deadline came first. Either way the operation has ended.
package func untilDeadline<Value: Sendable>(
    _ deadline: ContinuousClock.Instant, _ operation: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await operation() }
        group.addTask {
            try? await deadline.wait()
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}

extension ContinuousClock.Instant {
    /// Waits until then.
    ///
    /// A limit of time that an app chose may be as long as a duration can be. The runtime's clock overflows with that, so
    /// at most 136 years are waited.
    ///
    /// - Throws: `CancellationError`.
    package func wait() async throws {
        try await Task.sleep(until: min(self, .now + .seconds(1 << 32)), clock: .continuous)
    }
}
