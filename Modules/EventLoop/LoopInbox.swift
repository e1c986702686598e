internal import Glibc
internal import SallyportBase
internal import Synchronization

/// What a loop and its executors share with all threads: the work queue, the means to wake the loop's thread, and which
/// thread has the loop.
final class LoopInbox: Sendable {
    let queue = Lock(WorkQueue())
    let bell = Bell()
    /// Rings for the loop's thread, if that waits for a borrower.
    let handover = Bell(isAwaited: true)
    /// The `pthread_t` of the thread that has the loop; 0 for none. Relaxed, since a thread only looks for itself, which
    /// it has stored: what a thread hands on to the next one goes through the queue's lock.
    let holder = Atomic<UInt>(0)
    /// The `pthread_t` of the loop's own thread; 0 before it runs, and after its end.
    let thread = Atomic<UInt>(0)

    /// Whether the caller's thread has the loop.
    var isCurrent: Bool { holder.load(ordering: .relaxed) == pthread_self() }

    /// Whether the caller, who has the loop, runs on another thread than the loop's own.
    var isBorrowed: Bool { thread.load(ordering: .relaxed) != pthread_self() }

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
