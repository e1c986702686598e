internal import Glibc
internal import SallyportBase
internal import Synchronization

extension EventLoop {
    /// Runs `body` as a turn of the loop on the caller's thread, while the loop's own thread waits for descriptors and
    /// nothing is enqueued.
    ///
    /// To wake a thread, and to let it sleep again, costs more than many a turn. What the turn enqueues, and events that
    /// come meanwhile, the loop's thread handles afterwards. So the turn must be short, like all work on the loop; unlike
    /// there, SIGPIPE is not blocked.
    ///
    /// - Returns: what `body` returns; nil if it has not run.
    package func runIfAsleep<Result>(_ body: () -> Result) -> Result? {
        guard inbox.queue.withLock({ $0.borrowed() }) else { return nil }
        inbox.holder.store(pthread_self(), ordering: .relaxed)
        let result = body()
        state.endTurn()
        state.armTimer()
        let isDone = !state.hasTurnWork && !state.hasNextTurn
        inbox.holder.store(0, ordering: .relaxed)
        switch inbox.queue.withLock({ $0.givenBack(isDone: isDone) }) {
        case .none: break
        case .ring: inbox.bell.ring()
        case .handOver: inbox.handover.ring()
        }
        return result
    }
}

extension EventLoop {
    /// Whether the loop's own thread waits for descriptors, and no other has the loop.
    package var isAsleep: Bool { inbox.queue.withLock { $0.isAsleep } }
}
