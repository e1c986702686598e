internal import SallyportBase

/// What is asked of servers behind answers that were given already (RFC 5861 §3): tasks that nobody waits for, so few of
/// them, each bounded in time, and all cancelled with the cache. Docs/Concurrency.md has the exception.
final class Revalidations: Sendable {
    /// At once; what would be one more is not asked, and the next use of the entry asks.
    static let limit = 16
    /// The longest that one takes.
    static let time = Duration.seconds(60)

    private struct State {
        var tasks: [RequestKey: Task<Void, Never>] = [:]
        var isOver = false
    }

    private let state = Lock(State())

    /// Runs `body`, once for each key at a time.
    func start(_ key: RequestKey, _ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.isOver, state.tasks[key] == nil, state.tasks.count < Self.limit else { return }
            state.tasks[key] = Task.detached { [weak self] in
                await body()
                self?.state.withLock { _ = $0.tasks.removeValue(forKey: key) }
            }
        }
    }

    var count: Int { state.withLock { $0.tasks.count } }

    /// Ends those that run, and starts none any more.
    func cancel() {
        let tasks = state.withLock { state in
            state.isOver = true
            defer { state.tasks = [:] }
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
    }
}
