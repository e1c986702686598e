internal import Glibc
internal import SallyportBase

/// The thread on which every write transaction of a store begins and ends.
///
/// Writers that arrive together share one transaction and one sync. While no writer waits, the thread does background
/// work, one small transaction at a time.
@safe
final class Writer: @unchecked Sendable {
    // SAFETY: `state` is used only while `mutex` is held; both C objects are allocated once and freed when there is no
    // reference left, not even from the thread.

    /// Counts since the store was opened.
    struct Counts: Sendable {
        var commits = 0
        var parts = 0
    }

    private struct State {
        var parts: [Part] = []
        var counts = Counts()
        var hasBackgroundWork = false
        var isStopped = false
        var hasEnded = false
        /// The running thread; nil until there is one.
        var thread: pthread_t?
        var atEnd: [@Sendable () -> Void] = []

        /// Nil if there is nothing to do.
        mutating func takeWork() -> Work? {
            guard parts.isEmpty else {
                let group = Array(parts.prefix(groupLimit))
                parts.removeFirst(group.count)
                return .group(group)
            }
            if isStopped { return .end }
            return hasBackgroundWork ? .background : nil
        }
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state = State()
    private let environment: Environment
    private let ring: KeyRing
    private let tell: @Sendable ([StoreEvent]) -> Void
    /// The next piece of background work, or nil if there is none.
    private let background: @Sendable () -> Part?
    /// The most writers that share a transaction.
    static let groupLimit = 256

    /// - Throws: ``StoreError/Code/internalFailure`` if the system gives no thread.
    init(
        environment: Environment, ring: KeyRing, background: @escaping @Sendable () -> Part?,
        tell: @escaping @Sendable ([StoreEvent]) -> Void
    ) throws(StoreError) {
        self.environment = environment
        self.ring = ring
        self.background = background
        self.tell = tell
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let result = unsafe pthread_create(&thread, nil, runWriter, context)
        guard result == 0 else {
            unsafe Unmanaged<Writer>.fromOpaque(context).release()
            throw Self.noThread(result)
        }
        pthread_detach(thread)
    }

    private static func noThread(_ number: Int32) -> StoreError {
        let reason = unsafe String(cString: strerror(number))
        return StoreError(
            .internalFailure,
            "The thread that writes the store cannot be started (\(reason)): raise the limit of threads, such as "
                + "TasksMax= of a systemd service.")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe pthread_cond_destroy(condition)
        unsafe mutex.deallocate()
        unsafe condition.deallocate()
    }

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    var counts: Counts { withState { $0.counts } }

    /// The number of waiting writers.
    var waiting: Int { withState { $0.parts.count } }

    /// Enqueues a part; false if the writer has stopped.
    func enqueue(_ part: Part) -> Bool {
        withState { state in
            guard !state.isStopped else { return false }
            state.parts.append(part)
            unsafe pthread_cond_broadcast(condition)
            return true
        }
    }

    /// Starts background work, which runs while no writer waits, until none is left.
    func startBackgroundWork() {
        withState { state in
            state.hasBackgroundWork = true
            unsafe pthread_cond_broadcast(condition)
        }
    }

    /// Refuses parts from now on. What is queued is still committed.
    func refuse() {
        withState { state in
            state.isStopped = true
            unsafe pthread_cond_broadcast(condition)
        }
    }

    /// Commits what is queued, ends the thread, and then runs `body`. May be called more than once and concurrently. On
    /// the thread itself it returns at once, and `body` is the last thing that the thread runs.
    func stop(then body: @escaping @Sendable () -> Void) {
        let isOnThread = withState { state in
            state.isStopped = true
            unsafe pthread_cond_broadcast(condition)
            let isOnThread = state.thread == pthread_self() && !state.hasEnded
            if isOnThread { state.atEnd.append(body) }
            return isOnThread
        }
        guard !isOnThread else { return }
        waitForEnd()
        body()
    }

    private func waitForEnd() {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !state.hasEnded { unsafe pthread_cond_wait(condition, mutex) }
    }

    // MARK: On the thread

    private enum Work {
        case group([Part])
        case background
        case end
    }

    private func nextWork() -> Work {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let work = state.takeWork() { return work }
            // No access to `state` may span the wait, during which other threads change it: an optimiser may assume
            // that an exclusively held value does not change.
            unsafe pthread_cond_wait(condition, mutex)
        }
    }

    fileprivate func run() {
        withState { $0.thread = pthread_self() }
        while work() {}
        while let body = withState({ $0.atEnd.popLast() }) { body() }
        withState { state in
            state.hasEnded = true
            unsafe pthread_cond_broadcast(condition)
        }
    }

    /// Does the next piece of work; false if there will be no more.
    private func work() -> Bool {
        switch nextWork() {
        case .group(let group): commit(group)
        case .background: if let part = nextBackgroundPart() { commit([part]) }
        case .end: return false
        }
        return true
    }

    private func nextBackgroundPart() -> Part? {
        let part = background()
        if part == nil { withState { $0.hasBackgroundWork = false } }
        return part
    }

    private func commit(_ group: [Part]) {
        let (isPrepared, failure) = attempt(group)
        guard failure != nil, group.count > 1 else {
            for part in group { part.finish(failure) }
            return
        }
        // Perhaps only one of them does not fit into the remaining space: each gets its own transaction.
        for (index, part) in group.enumerated() {
            let hasFailed = index < isPrepared.count && !isPrepared[index]
            part.finish(hasFailed ? nil : attempt([part]).failure)
        }
    }

    private func attempt(_ group: [Part]) -> (isPrepared: [Bool], failure: StoreError?) {
        var isPrepared: [Bool] = []
        var changes = WriteSet()
        var events: [StoreEvent] = []
        var failure: StoreError?
        do throws(StoreError) {
            try environment.write { tree throws(StoreError) in
                // A second attempt, after the map was enlarged, applies the prepared changes without preparing them
                // again.
                for part in group.dropFirst(isPrepared.count) {
                    changes.begin()
                    let isGood = part.prepare(tree, &changes)
                    if isGood { events += changes.keep() } else { changes.drop() }
                    isPrepared.append(isGood)
                }
                try changes.apply(to: tree, ring: ring)
            }
        } catch {
            failure = error
        }
        withState { state in
            guard failure == nil else { return }
            state.counts.parts += isPrepared.count
            if !changes.isEmpty { state.counts.commits += 1 }
        }
        if failure == nil { tell(events) }
        return (isPrepared, failure)
    }
}

private func runWriter(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let writer = unsafe Unmanaged<Writer>.fromOpaque(context).takeRetainedValue()
    writer.run()
    return nil
}
