internal import Glibc
internal import SallyportBase

/// One thread that waits for descriptors, timers and work, and runs what became due: the executor of the actors that
/// own C handles, and of any task that prefers it.
///
/// Work runs in the order in which it was enqueued, in bounded batches with a look at the descriptors between them,
/// so that neither starves the other. Work never blocks: whatever blocks the thread blocks every connection on it.
///
/// Run tasks on a loop to spare the hops between threads when they talk to an engine on that loop:
///
///     await withTaskExecutorPreference(loop) { await handle(request) }
///
/// The preference holds for asynchronous functions that are not isolated, and for child tasks (SE-0417).
///
/// An actor that owns what belongs to the thread returns ``asUnownedSerialExecutor()`` as its `unownedExecutor`.
public final class EventLoop: TaskExecutor, CustomStringConvertible {
    /// The thread's name, cut to 15 bytes where the kernel shows it.
    public let name: String

    let inbox = LoopInbox()
    let actorExecutor: LoopExecutor

    // SAFETY: touched only by the thread that has the loop, which `LoopState`'s callers check in `state`.
    nonisolated(unsafe) private let loopState: LoopState

    /// Starts the thread, which runs until ``shutdown()``.
    public init(name: String) {
        self.name = name
        actorExecutor = LoopExecutor(inbox)
        unsafe loopState = LoopState(bell: inbox.bell)
        startThread()
    }

    public var description: String { "EventLoop(\(name))" }

    /// Whether the caller runs on the loop: on its thread, or on another one that has borrowed the loop.
    public var isCurrent: Bool { inbox.isCurrent }

    /// Whether the caller, who has the loop, runs on another thread that has borrowed it.
    package var isBorrowed: Bool { inbox.isBorrowed }

    /// The state that belongs to the thread that has the loop; traps if another thread asks.
    var state: LoopState {
        precondition(isCurrent, "This is done on the loop's own thread only.")
        return unsafe loopState
    }
}

// MARK: Executor

extension EventLoop {
    /// Runs a job of an actor or a task on the loop's thread, after what was enqueued before.
    public func enqueue(_ job: consuming ExecutorJob) { inbox.require(.task(UnownedJob(job))) }

    /// Runs `body` on the loop, after what was enqueued before.
    public func execute(_ body: @escaping @Sendable () -> Void) { inbox.require(.closure(body)) }

    /// Runs `body` on the loop, after what was enqueued before, unless the loop was shut down.
    ///
    /// - Returns: whether it will run.
    package func executeIfRunning(_ body: @escaping @Sendable () -> Void) -> Bool { inbox.enqueue(.closure(body)) }

    /// The executor of tasks that prefer the loop: the loop itself.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { unsafe UnownedTaskExecutor(ordinary: self) }

    /// The executor of actors on the loop. It differs from the executor of tasks, which is the loop itself, so that a
    /// task on the loop calls nonisolated functions without passing through the loop's queue.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe actorExecutor.asUnownedSerialExecutor() }
}

// MARK: End

extension EventLoop {
    /// Ends the thread once everything enqueued so far, and what that enqueues, has run. Returns when it has ended.
    ///
    /// Idempotent. No actor or task may use the loop any more: work that is enqueued afterwards stops the process,
    /// since nothing could ever run it. Call it from another executor.
    public func shutdown() async {
        await withCheckedContinuation { continuation in
            switch inbox.queue.withLock({ $0.shutdownRequested(continuation) }) {
            case .ring: inbox.bell.ring()
            case .resume: continuation.resume()
            case .none: break
            }
        }
    }
}
