/// Tasks that nobody awaits, from their start to their end, so that whoever shuts down can.
package final class DetachedTasks: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var next = 0
        var isShutDown = false
    }
    private let state = Lock(State())

    package init() {}

    package var count: Int { state.withLock { $0.tasks.count } }

    /// Begins a task, which is cancelled from its start once all is shut down.
    package func begin(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { begin(work, &$0) }
    }

    /// Begins a task, or none where `limit` of them are under way or all is shut down.
    ///
    /// - Returns: whether it began.
    package func begin(atMost limit: Int, _ work: @escaping @Sendable () async -> Void) -> Bool {
        state.withLock { state in
            guard !state.isShutDown, state.tasks.count < limit else { return false }
            begin(work, &state)
            return true
        }
    }

    /// With the lock: the task's own end waits for it, and so comes behind its entry.
    private func begin(_ work: @escaping @Sendable () async -> Void, _ state: inout State) {
        state.next += 1
        let number = state.next
        let task = Task.detached { [self] in
            await work()
            self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
        }
        if state.isShutDown { task.cancel() }
        state.tasks[number] = task
    }

    /// Cancels those that are under way and waits until they have ended. Idempotent.
    package func shutdown() async {
        for task in cancel() { await task.value }
    }

    /// Cancels those that are under way, and those that are begun later. Idempotent.
    ///
    /// - Returns: those that are under way.
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
