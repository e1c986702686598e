/// The work that waits to run on a loop, who has the loop, and whether its thread must be woken. Guarded by the loop's
/// lock.
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

    private enum Holder {
        /// The loop's own thread, which is awake, or was woken.
        case thread
        /// None: the loop's thread waits for descriptors, or is about to, and has not been woken since.
        case none
        /// Another thread, while the loop's own waits for descriptors.
        case borrower
        /// Another thread, for which the loop's own waits.
        case awaitedBorrower
    }

    private var items: [Item] = []
    private var life = Life.running
    private var holder = Holder.thread
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

    /// The loop's thread waits for descriptors, and no other has the loop.
    var isAsleep: Bool { holder == .none }

    /// - Returns: whether the thread must be woken. A borrower looks for work when it gives the loop back.
    private mutating func wake() -> Bool {
        guard holder == .none else { return false }
        holder = .thread
        return true
    }

    mutating func shutdownRequested(_ continuation: CheckedContinuation<Void, Never>) -> ShutdownAction {
        guard life != .stopped else { return .resume }
        waiters.append(continuation)
        life = .stopping
        return wake() ? .ring : .none
    }

    /// The loop's thread no longer waits for descriptors.
    ///
    /// - Returns: whether it has the loop; if not, it waits for the handover.
    mutating func awoke() -> Bool {
        switch holder {
        case .thread: return true
        case .none:
            holder = .thread
            return true
        case .borrower, .awaitedBorrower:
            holder = .awaitedBorrower
            return false
        }
    }

    /// - Returns: whether another thread has the loop now; false if the loop's own is awake, or work waits for it.
    mutating func borrowed() -> Bool {
        guard holder == .none, items.isEmpty, life == .running else { return false }
        holder = .borrower
        return true
    }

    enum Return: Sendable {
        case none
        /// The thread must be woken.
        case ring
        /// The thread waits for the loop.
        case handOver
    }

    /// - Parameter isDone: whether the borrower has left nothing to do in this turn.
    mutating func givenBack(isDone: Bool) -> Return {
        let isAwaited = holder == .awaitedBorrower
        let isNeeded = isAwaited || !isDone || hasItems || life != .running
        holder = isNeeded ? .thread : .none
        return isAwaited ? .handOver : isNeeded ? .ring : .none
    }

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
        holder = .none
        return .asleep
    }
}
