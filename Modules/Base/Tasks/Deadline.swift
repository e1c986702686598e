/// Runs `operation` until the deadline at the latest: its task is cancelled then.
///
/// - Returns: nil where the deadline came first. Either way the operation has ended.
package func untilDeadline<Value: Sendable>(
    _ deadline: ContinuousClock.Instant, _ operation: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await operation() }
        group.addTask {
            try? await Task.sleep(until: deadline, clock: .continuous)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
