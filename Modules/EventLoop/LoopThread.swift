internal import CLinux
internal import Glibc
internal import SallyportBase
internal import Synchronization

/// How many items run between two polls of the descriptors. What the items enqueue also runs before the next poll: if
/// many answers arrive together, their tasks read them and send the next requests in one go.
private let batchLimit = 512

extension EventLoop {
    func startThread() {
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let result = unsafe pthread_create(&thread, nil, runThread, context)
        precondition(result == 0, "The system allows another thread.")
        pthread_detach(thread)
    }

    fileprivate func runOnThread() {
        inbox.thread.store(pthread_self(), ordering: .relaxed)
        inbox.holder.store(pthread_self(), ordering: .relaxed)
        prepareThread()
        Heap.keepTop()
        var batch = Batch()
        var eyes = Selector.Eyes(state.epoll)
        while true {
            let isIdle = batch.isEmpty && !state.hasTurnWork && !state.hasNextTurn
            if isIdle { state.armTimer() }
            let rest = isIdle ? inbox.queue.withLock { $0.rest() } : .awake
            if case .ended(let waiters) = rest { return end(waiters) }
            let waits = if case .asleep = rest { true } else { false }
            // Without the state, which another thread may borrow meanwhile.
            eyes.look(waits: waits)
            if waits { takeLoop() }
            state.saw(&eyes.events)
            state.handleEvents()
            var room = batchLimit
            repeat {
                if batch.isEmpty { inbox.queue.withLock { batch.refill(from: &$0) } }
                room -= max(1, batch.run(on: self, upTo: room))
                state.endTurn()
            } while room > 0 && (!batch.isEmpty || state.hasTurnWork || inbox.queue.withLock { $0.hasItems })
        }
    }

    /// The thread no longer sleeps: work that is enqueued from here on needs no wake-up. Waits for a thread that has
    /// borrowed the loop.
    private func takeLoop() {
        while !inbox.queue.withLock({ $0.awoke() }) { inbox.handover.silence() }
        inbox.holder.store(pthread_self(), ordering: .relaxed)
    }

    /// Sets the thread's name and blocks SIGPIPE: writing to a closed connection is an error of the call, not a signal.
    private func prepareThread() {
        unsafe pthread_setname_np(pthread_self(), String(decoding: name.utf8.prefix(15), as: UTF8.self))
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func end(_ waiters: [CheckedContinuation<Void, Never>]) {
        state.close()
        // Another thread may have the number of this one later.
        inbox.holder.store(0, ordering: .relaxed)
        inbox.thread.store(0, ordering: .relaxed)
        for waiter in waiters { waiter.resume() }
    }
}

/// The items taken from the queue, and how far they have run.
private struct Batch {
    private var items: [WorkQueue.Item] = []
    private var next = 0

    var isEmpty: Bool { next == items.count }

    mutating func refill(from queue: inout WorkQueue) {
        items.removeAll(keepingCapacity: true)
        next = 0
        queue.exchange(&items)
    }

    /// - Returns: how many items have run.
    mutating func run(on loop: EventLoop, upTo limit: Int) -> Int {
        let start = next
        let end = min(items.count, next + limit)
        while next < end {
            switch items[next] {
            case .task(let job): unsafe job.runSynchronously(on: loop.asUnownedTaskExecutor())
            case .isolated(let job):
                unsafe job.runSynchronously(
                    isolatedTo: loop.asUnownedSerialExecutor(), taskExecutor: loop.asUnownedTaskExecutor())
            case .closure(let body): body()
            }
            next += 1
        }
        if isEmpty {
            // Closures release what they hold now, not when the next batch comes.
            items.removeAll(keepingCapacity: items.count <= 4 * batchLimit)
            next = 0
        }
        return end - start
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
    loop.runOnThread()
    return nil
}
