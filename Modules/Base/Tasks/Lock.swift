public import Glibc

/// State that threads share for nanoseconds, guarded by a pthread mutex. Copies share it.
///
/// For state that both a loop and a consumer touch. Never held across an `await`, a callback, the resumption of a
/// continuation or a call that blocks; Docs/Concurrency.md has the exceptions, and the order in which locks nest.
///
/// It is not `Synchronization.Mutex`, because ThreadSanitizer does not see that type's futex and would report every
/// access. Each request takes this lock: mutex and state are one allocation, and the code is inlined into its callers, in
/// other modules too: for that, the compiler wants the type usable from inlined code as well as the functions (6.3.1).
@safe @usableFromInline
package struct Lock<State: ~Copyable>: @unchecked Sendable {
    // SAFETY: the state is read and written only between lock and unlock of the mutex beside it, in `withLock`.
    @usableFromInline let storage: LockStorage<State>

    @inlinable
    package init(_ state: consuming sending State) {
        storage = LockStorage.make(state)
    }

    /// Runs `body` with exclusive access to the state.
    ///
    /// Always inlined: as generic code it looks up its types each time, which costs more than the lock.
    @inlinable @inline(__always)
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let mutex = unsafe storage.withUnsafeMutablePointerToHeader { unsafe $0 }
        let state = unsafe storage.withUnsafeMutablePointerToElements { unsafe $0 }
        unsafe pthread_mutex_lock(mutex)
        defer {
            _ = unsafe pthread_mutex_unlock(mutex)
            // The lock keeps its storage: both pointers are valid until here.
            extendLifetime(storage)
        }
        return try unsafe body(&state.pointee)
    }
}

/// A mutex that never moves, and the state behind it.
@safe @usableFromInline
final class LockStorage<State: ~Copyable>: ManagedBuffer<pthread_mutex_t, State> {
    @inlinable
    static func make(_ state: consuming State) -> LockStorage<State> {
        let storage = unsafe Self.create(minimumCapacity: 1) { _ in unsafe pthread_mutex_t() }
        let result = unsafe pthread_mutex_init(storage.withUnsafeMutablePointerToHeader { unsafe $0 }, nil)
        precondition(result == 0, "A default mutex can always be made.")
        unsafe storage.withUnsafeMutablePointerToElements { unsafe $0 }.initialize(to: state)
        return unsafe unsafeDowncast(storage, to: Self.self)
    }

    deinit {
        _ = unsafe withUnsafeMutablePointers { mutex, state in
            unsafe state.deinitialize(count: 1)
            return unsafe pthread_mutex_destroy(mutex)
        }
    }
}
