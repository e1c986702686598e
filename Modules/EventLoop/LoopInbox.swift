internal import Glibc
internal import SallyportBase
internal import Synchronization

/// What a loop and its executors share with all threads: the work queue, and the means to wake the loop's thread.
final class LoopInbox: Sendable {
    let queue = Lock(WorkQueue())
    let bell = Bell()
    /// The loop's `pthread_t`; 0 until the thread has started.
    let thread = Atomic<UInt>(0)

    /// Whether the caller runs on the loop's thread.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// - Returns: whether the item will run.
    func enqueue(_ item: WorkQueue.Item) -> Bool {
        switch queue.withLock({ $0.enqueued(item) }) {
        case .ring: bell.ring()
        case .taken: break
        case .refused: return false
        }
        return true
    }

    func require(_ item: WorkQueue.Item) {
        precondition(enqueue(item), "Work was enqueued on an event loop that has been shut down.")
    }
}
