/// Tasks that no other task awaits, kept from start to end so that a shutdown can cancel them and wait for them.
///
/// They are children of one task, which starts them in the order in which they were asked for, and ends with the last of
/// them.
package final class DetachedTasks: Sendable {
    package typealias Work = @Sendable () async -> Void

    private let parent: Task<Void, Never>
    private let works: AsyncStream<Work>.Continuation
    private let unfinished = Places()

    package init() {
        let (stream, works) = AsyncStream.makeStream(of: Work.self)
        self.works = works
        parent = Task.detached {
            await withDiscardingTaskGroup { group in
                for await work in stream { group.addTask { await work() } }
            }
        }
    }

    deinit { works.finish() }

    package var count: Int { unfinished.taken }

    /// Starts a task. After a shutdown it is cancelled from the start.
    package func begin(_ work: @escaping Work) {
        unfinished.take()
        guard !start(work) else { return }
        Task.detached {
            await withDiscardingTaskGroup { group in
                group.cancelAll()
                group.addTask { await work() }
            }
        }
    }

    /// Starts a task, unless `limit` of them are running or there was a shutdown.
    ///
    /// - Returns: whether the task was started.
    package func begin(atMost limit: Int, _ work: @escaping Work) -> Bool {
        unfinished.take(of: limit) && start(work)
    }

    /// Hands a task that was counted to the parent.
    ///
    /// - Returns: false after a shutdown; then it is not counted any more.
    private func start(_ work: @escaping Work) -> Bool {
        let result = works.yield { [self] in
            await work()
            unfinished.free()
        }
        if case .enqueued = result { return true }
        unfinished.free()
        return false
    }

    /// Cancels the running tasks and waits until they have ended. Idempotent.
    package func shutdown() async {
        cancel()
        await parent.value
    }

    /// Cancels the running tasks, and those that are started later. Idempotent.
    package func cancel() {
        works.finish()
        parent.cancel()
    }
}
