internal import SallyportCore

/// Look-ups that nobody awaits, from the call until the caller was told.
final class DetachedLookups: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var next = 0
        var isShutDown = false
    }
    private let state = Lock(State())

    /// Runs `lookUp` on a task of its own, which is cancelled from the start once all is shut down.
    func begin(_ lookUp: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.next += 1
            let number = state.next
            let task = Task {
                await lookUp()
                self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
            }
            if state.isShutDown { task.cancel() }
            state.tasks[number] = task
        }
    }

    /// Cancels those that are under way and waits until their callers were told. Idempotent.
    func shutdown() async {
        let tasks = state.withLock { state in
            state.isShutDown = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
