/// The work that waits to run on a loop, and whether its thread must be woken. Guarded by the loop's lock.
struct WorkQueue: Sendable {
    enum Item: Sendable {
        /// A task that prefers the loop, outside of actors.
        case task(UnownedJob)
        /// A job of an actor on the loop.
        case isolated(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    enum ShutdownAction: Sendable { case ring, resume, none }

    private enum Life { case running, stopping, stopped }

    private var items: [Item] = []
    private var life = Life.running
    /// The thread waits for descriptors, or is about to, and has not been woken since.
    private var isAsleep = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    enum Admission: Sendable {
        /// The thread must be woken. Never needed for work that the loop enqueues itself: it is awake then.
        case ring
        case taken
        /// The loop was shut down: the work would never run.
        case refused
    }

    mutating func enqueued(_ item: Item) -> Admission {
        guard life != .stopped else { return .refused }
        items.append(item)
        return wake() ? .ring : .taken
    }

    var hasItems: Bool { !items.isEmpty }

    private mutating func wake() -> Bool {
        defer { isAsleep = false }
        return isAsleep
    }

    mutating func shutdownRequested(_ continuation: CheckedContinuation<Void, Never>) -> ShutdownAction {
        guard life != .stopped else { return .resume }
        waiters.append(continuation)
        life = .stopping
        return wake() ? .ring : .none
    }

    /// The thread runs again, and looks for items before it waits.
    mutating func awoke() { isAsleep = false }

    /// Hands over all items and takes back the emptied storage of the last batch, so that none is allocated anew.
    mutating func exchange(_ batch: inout [Item]) {
        swap(&items, &batch)
    }

    enum Rest: Sendable {
        /// There is more work: poll the descriptors without waiting.
        case awake
        case asleep
        /// The thread ends, and resumes these waiting tasks.
        case ended([CheckedContinuation<Void, Never>])
    }

    /// The thread has nothing left to run.
    mutating func rest() -> Rest {
        guard items.isEmpty else { return .awake }
        if life == .stopping {
            life = .stopped
            defer { waiters = [] }
            return .ended(waiters)
        }
        isAsleep = true
        return .asleep
    }
}
