/// Tasks that no other task awaits, kept from start to end so that a shutdown can cancel them and wait for them.
package final class DetachedTasks: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var next = 0
        var isShutDown = false
    }
    private let state = Lock(State())

    package init() {}

    package var count: Int { state.withLock { $0.tasks.count } }

    /// Starts a task. After a shutdown it is cancelled from the start.
    package func begin(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { begin(work, &$0) }
    }

    /// Starts a task, unless `limit` of them are running or there was a shutdown.
    ///
    /// - Returns: whether the task was started.
    package func begin(atMost limit: Int, _ work: @escaping @Sendable () async -> Void) -> Bool {
        state.withLock { state in
            guard !state.isShutDown, state.tasks.count < limit else { return false }
            begin(work, &state)
            return true
        }
    }

    /// Called with the lock held: the task's end waits for the lock, and so is recorded after its start.
    private func begin(_ work: @escaping @Sendable () async -> Void, _ state: inout State) {
        state.next += 1
        let (number, isLate) = (state.next, state.isShutDown)
        let task = Task.detached { [self] in
            // The cancellation below comes first: it holds the lock.
            if isLate { self.state.withLock { _ in } }
            await work()
            self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
        }
        if isLate { task.cancel() }
        state.tasks[number] = task
    }

    /// Cancels the running tasks and waits until they have ended. Idempotent.
    package func shutdown() async {
        for task in cancel() { await task.value }
    }

    /// Cancels the running tasks, and those that are started later. Idempotent.
    ///
    /// - Returns: the running tasks.
    @discardableResult
    package func cancel() -> [Task<Void, Never>] {
        let tasks = state.withLock { state in
            state.isShutDown = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        return tasks
    }
}
