import Foundation
import Glibc

@testable import SallyportSecureStore

/// Stands for a process that has opened a store's data file and not yet its table of readers: it holds the lock of the
/// directory until a replacement of the files waits for it.
///
/// It has a thread of its own: a replacement gives up after five seconds, and other tests may hold all threads of the
/// cooperative pool for longer.
final class OpeningReader: Sendable {
    private let outcome: AsyncStream<Bool>

    /// Returns when the directory is locked.
    init(in directory: String) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0, flock(descriptor, LOCK_SH) == 0 else {
            throw Child.Failure(description: "\(directory) cannot be locked.")
        }
        let (outcome, continuation) = AsyncStream<Bool>.makeStream()
        self.outcome = outcome
        let files = ["data.mdb", "lock.mdb"].map { "\(directory)/\($0)" }
        let before = files.map { FileIdentity($0) }
        Thread.detachNewThread {
            // A minute at most.
            var waits = 0
            while waits < 60_000, !Files.exists("\(directory)/restoring") {
                waits += 1
                usleep(1_000)
            }
            // A replacement that does not wait for the lock goes on now.
            usleep(50_000)
            let isWaitedFor = Files.exists("\(directory)/restoring")
            continuation.yield(isWaitedFor && files.map { FileIdentity($0) } == before)
            continuation.finish()
            close(descriptor)
        }
    }

    /// Whether the replacement waited, with both files in their places.
    var wasWaitedFor: Bool {
        get async {
            for await wasWaitedFor in outcome { return wasWaitedFor }
            return false
        }
    }
}
