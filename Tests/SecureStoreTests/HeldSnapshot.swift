import Foundation
import Glibc
import SallyportSecureStore

/// A snapshot that a thread of its own holds until it is let go of; the cooperative pool's must not wait.
final class HeldSnapshot<Content: Sendable>: Sendable {
    private let gatekeeper = Gatekeeper()
    private let outcome: AsyncThrowingStream<Content, any Error>

    /// Returns when the snapshot is taken.
    ///
    /// - Parameter content: is called when it is let go of.
    init(of store: SecureStore, _ content: @escaping @Sendable (ReadTransaction) throws -> Content) async {
        let (outcome, continuation) = AsyncThrowingStream<Content, any Error>.makeStream()
        self.outcome = outcome
        let begun = AsyncStream<Void>.makeStream()
        Thread.detachNewThread { [gatekeeper] in
            do {
                continuation.yield(
                    try store.read { snapshot in
                        begun.continuation.finish()
                        gatekeeper.wait()
                        return try content(snapshot)
                    })
                continuation.finish()
            } catch { continuation.finish(throwing: error) }
        }
        for await _ in begun.stream {}
    }

    func release() async throws -> Content? {
        gatekeeper.open()
        for try await content in outcome { return content }
        return nil
    }
}

/// Lets a thread wait until another says so.
final class Gatekeeper: @unchecked Sendable {
    // SAFETY: a semaphore may be used by all threads.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
    func open() { sem_post(semaphore) }
    /// Five minutes at most: other tests may hold all threads for long.
    func wait() {
        var until = timespec()
        clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += 300
        sem_timedwait(semaphore, &until)
    }
}
