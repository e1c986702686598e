internal import Glibc
internal import SallyportCore

/// The thread on which every write transaction of a store begins and ends.
///
/// Writers that arrive together share one transaction and one sync.
@safe
final class Writer: @unchecked Sendable {
    // SAFETY: `state` is touched only while `mutex` is held; both C objects are allocated once and freed when nobody
    // can hold a reference, after the thread was joined.
    /// One writer's part: runs against the open tree, and is told how it ended.
    struct Part: Sendable {
        /// Prepares the part; runs once. Its own failure ends only this part.
        let prepare: @Sendable (Tree, inout WriteSet) -> Bool
        /// Called once the shared transaction is durable, or has failed.
        let finish: @Sendable (StoreError?) -> Void
    }

    private struct State {
        var parts: [Part] = []
        var isStopped = false
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state = State()
    private var thread = pthread_t()
    private let environment: Environment
    /// The most parts that share a transaction.
    private static let groupLimit = 256

    init(environment: Environment) {
        self.environment = environment
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let result = unsafe pthread_create(&thread, nil, runWriter, context)
        precondition(result == 0, "A thread for a store's writer can be made.")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe pthread_cond_destroy(condition)
        unsafe mutex.deallocate()
        unsafe condition.deallocate()
    }

    /// Queues a part; false where the writer is stopped.
    func enqueue(_ part: Part) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        guard !state.isStopped else { return false }
        state.parts.append(part)
        unsafe pthread_cond_signal(condition)
        return true
    }

    /// Commits what is queued and ends the thread. Idempotent.
    func stop() {
        unsafe pthread_mutex_lock(mutex)
        let wasStopped = state.isStopped
        state.isStopped = true
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
        guard !wasStopped else { return }
        pthread_join(thread, nil)
    }

    private func nextGroup() -> [Part] {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while state.parts.isEmpty, !state.isStopped { unsafe pthread_cond_wait(condition, mutex) }
        let group = Array(state.parts.prefix(Self.groupLimit))
        state.parts.removeFirst(group.count)
        return group
    }

    fileprivate func run() {
        while true {
            let group = nextGroup()
            guard !group.isEmpty else { return }
            commit(group)
        }
    }

    private func commit(_ group: [Part]) {
        var isPrepared: [Bool] = []
        var changes = WriteSet()
        var failure: StoreError?
        do throws(StoreError) {
            try environment.write { tree throws(StoreError) in
                // A second attempt, after the map was grown, applies what was prepared and prepares nothing again.
                for part in group.dropFirst(isPrepared.count) {
                    changes.begin()
                    let isGood = part.prepare(tree, &changes)
                    if isGood { changes.keep() } else { changes.drop() }
                    isPrepared.append(isGood)
                }
                try changes.apply(to: tree)
            }
        } catch {
            failure = error
        }
        for part in group { part.finish(failure) }
    }
}

private func runWriter(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let writer = unsafe Unmanaged<Writer>.fromOpaque(context).takeRetainedValue()
    writer.run()
    return nil
}
