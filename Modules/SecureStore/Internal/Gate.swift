internal import Glibc

/// A reader–writer lock. Readers share it. A writer waits for the readers that hold it, and later readers wait for the
/// writer.
///
/// A reader may acquire it again on the same thread.
@safe
final class Gate: @unchecked Sendable {
    // SAFETY: both C objects are created in the initialiser, which throws only before there is one, and freed when there
    // is no reference left.
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
    /// How often the thread holds it: acquiring it again would wait for a writer that waits for the first acquisition.
    private let depth: pthread_key_t

    /// - Throws: ``StoreError/Code/internalFailure`` if the process has no key of threads' own values left.
    init() throws(StoreError) {
        var depth = pthread_key_t()
        guard unsafe pthread_key_create(&depth, nil) == 0 else {
            unsafe lock.deallocate()
            throw StoreError(
                .internalFailure, "Too many stores are open: a process can have about 500 open at once. Close one.")
        }
        self.depth = depth
        var attributes = pthread_rwlockattr_t()
        unsafe pthread_rwlockattr_init(&attributes)
        unsafe pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        unsafe lock.initialize(to: pthread_rwlock_t())
        unsafe pthread_rwlock_init(lock, &attributes)
        unsafe pthread_rwlockattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
        pthread_key_delete(depth)
    }

    /// How often the calling thread holds it as a reader.
    var entries: Int { unsafe Int(bitPattern: pthread_getspecific(depth)) }

    func enter() {
        let entries = entries
        if entries == 0 { unsafe pthread_rwlock_rdlock(lock) }
        unsafe pthread_setspecific(depth, UnsafeRawPointer(bitPattern: entries + 1))
    }

    func leave() {
        let entries = entries
        unsafe pthread_setspecific(depth, UnsafeRawPointer(bitPattern: entries - 1))
        if entries == 1 { unsafe pthread_rwlock_unlock(lock) }
    }

    /// Runs `body` as the only holder. The calling thread must not hold it as a reader.
    func alone<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe pthread_rwlock_wrlock(lock)
        defer { unsafe pthread_rwlock_unlock(lock) }
        return try body()
    }
}
