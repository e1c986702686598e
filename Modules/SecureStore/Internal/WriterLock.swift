internal import Glibc
internal import SallyportBase

/// The lock that allows one process to write (flock(2)); released when the process closes the store or ends, even by a
/// crash.
///
/// Its file contains the writer's process number while the store is open for writing, and is empty after it was closed:
/// a number that is still there shows that the writer ended without closing.
@safe
final class WriterLock: Sendable {
    private let descriptor: Int32
    /// Whether the last writer closed the store; unknown for a store that was copied without this file.
    let wasClean: Bool

    static let fileName = "writer"
    /// A reader holds the lock for an instant, which must not make an opening fail.
    private static let attempts = 5
    private static let pause: UInt32 = 10_000

    init(directory: String) throws(StoreError) {
        let path = "\(directory)/\(Self.fileName)"
        let wasThere = Files.exists(path)
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure("open", path) }
        guard Self.lock(descriptor) else {
            close(descriptor)
            let holder = String(decoding: (try? Files.read(path, upTo: 64)) ?? [], as: UTF8.self)
            throw StoreError(
                .inUse, "The store at \(directory) is written by process \(holder.isEmpty ? "?" : holder).")
        }
        wasClean = wasThere && Self.isEmpty(descriptor)
        let identifier = Array("\(getpid())".utf8)
        // The file must not be empty in between: the process may end there, or the disk be full.
        let written = unsafe identifier.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        // From here on an error also runs `deinit`, which closes the file: a second time would close another's.
        guard written == identifier.count, ftruncate(descriptor, off_t(written)) == 0, fsync(descriptor) == 0 else {
            throw Files.failure("write", path)
        }
    }

    deinit { Self.release(descriptor) }

    private static func release(_ descriptor: Int32) {
        // A child that was forked meanwhile shares the lock, and closing alone would leave it locked.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Records that the store was closed. It need not be durable: without it the next opening only makes a needless
    /// check.
    func markClean() { ftruncate(descriptor, 0) }

    /// Leaves the mark of the last writer, for a holder that has changed no record: a store that was closed stays one
    /// that was closed, and any other is still checked by the next opening.
    func leaveAsFound() { if wasClean { markClean() } }

    /// Whether the last writer did not close the store. While a writer is active, it has already handled that.
    static func wasLeftOpen(_ directory: String) -> Bool {
        let descriptor = unsafe open("\(directory)/\(fileName)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { release(descriptor) }
        return !isEmpty(descriptor) && flock(descriptor, LOCK_SH | LOCK_NB) == 0
    }

    private static func lock(_ descriptor: Int32) -> Bool {
        for _ in 0..<attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            usleep(pause)
        }
        return false
    }

    private static func isEmpty(_ descriptor: Int32) -> Bool {
        var info = stat()
        return unsafe fstat(descriptor, &info) == 0 && info.st_size == 0
    }
}
