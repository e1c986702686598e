/// The executor of the actors that belong to a loop's thread.
///
/// It is not the ``EventLoop`` itself, which is the executor of tasks: the runtime takes a job of a task for one of an actor
/// if both are one object, and queues the task anew for each function that is not isolated.
final class LoopExecutor: SerialExecutor {
    private let inbox: LoopInbox

    init(_ inbox: LoopInbox) { self.inbox = inbox }

    func enqueue(_ job: consuming ExecutorJob) { inbox.require(.isolated(UnownedJob(job))) }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    func isIsolatingCurrentContext() -> Bool? { inbox.isCurrent }

    func checkIsolated() { precondition(inbox.isCurrent, "Expected to run on the thread of the actor's event loop.") }
}
