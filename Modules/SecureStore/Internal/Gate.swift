internal import Glibc

/// Many may be inside at a time; who needs to be alone waits for them, and those who come later wait for him.
///
/// Who is inside may enter again on the same thread.
@safe
final class Gate: @unchecked Sendable {
    // SAFETY: both C objects are made in the initialiser and freed when nobody can hold a reference.
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
    /// How often the thread is inside: a second turn at the lock would wait for who waits for the first.
    private var depth = pthread_key_t()

    init() {
        var attributes = pthread_rwlockattr_t()
        unsafe pthread_rwlockattr_init(&attributes)
        unsafe pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        unsafe lock.initialize(to: pthread_rwlock_t())
        unsafe pthread_rwlock_init(lock, &attributes)
        unsafe pthread_rwlockattr_destroy(&attributes)
        let result = unsafe pthread_key_create(&depth, nil)
        precondition(result == 0, "A process has at most about a thousand open stores.")
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
        pthread_key_delete(depth)
    }

    /// How often the calling thread is inside.
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

    /// Runs `body` while nobody is inside. The caller must not be.
    func alone<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe pthread_rwlock_wrlock(lock)
        defer { unsafe pthread_rwlock_unlock(lock) }
        return try body()
    }
}
