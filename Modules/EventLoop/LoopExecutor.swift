/// The executor of the actors that belong to a loop's thread.
///
/// It is not the ``EventLoop`` itself, which is the executor of tasks: if both were one object, the runtime would take
/// a task's job for an actor's and enqueue the task again for each nonisolated function.
final class LoopExecutor: SerialExecutor {
    private let inbox: LoopInbox

    init(_ inbox: LoopInbox) { self.inbox = inbox }

    func enqueue(_ job: consuming ExecutorJob) { inbox.require(.isolated(UnownedJob(job))) }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    func isIsolatingCurrentContext() -> Bool? { inbox.isCurrent }

    func checkIsolated() { precondition(inbox.isCurrent, "Expected to run on the thread of the actor's event loop.") }
}
