internal import Glibc

/// State that threads share for nanoseconds, guarded by a pthread mutex.
///
/// For state that both a loop and a consumer touch. Never held across an `await`, a callback, the resumption of a
/// continuation or a call that blocks; Docs/Concurrency.md has the order in which locks nest.
///
/// It is not `Synchronization.Mutex` because ThreadSanitizer does not see that type's futex, and reports every body.
@safe
package final class Lock<State: ~Copyable>: @unchecked Sendable {
    // SAFETY: `state` is read and written only between lock and unlock of `mutex`, in `withLock`; `mutex` is
    // allocated once, never moves, and is destroyed when nobody can hold a reference any more.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    package init(_ state: consuming sending State) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let result = unsafe pthread_mutex_init(mutex, nil)
        precondition(result == 0, "A default mutex can always be made.")
        self.state = state
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deinitialize(count: 1)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the state.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
