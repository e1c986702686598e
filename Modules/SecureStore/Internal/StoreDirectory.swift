internal import Glibc
internal import SallyportCore

/// The directory of a store: who writes it, and how it is destroyed.
enum StoreDirectory {
    private static let intentName = "wiping"
    /// What a wipe leaves, so that the next opener is told why there is nothing.
    private static let wipedName = "wiped"
    private static let dataNames = [Environment.fileName, "lock.mdb"]

    static func prepare(_ path: String, options: StoreOptions) throws(StoreError) {
        if options.createsIfMissing, !options.isReadOnly { try Files.makeDirectory(path) }
        guard Files.exists(path) else { throw StoreError(.notFound, "There is no store at \(path).") }
        guard try Files.mode(of: path) & 0o077 == 0 else {
            throw StoreError(.unsafePermissions, "The directory \(path) can be entered by others: chmod 700 it.")
        }
        guard !Files.exists("\(path)/\(intentName)") else {
            guard !options.isReadOnly else { throw StoreError(.wiped, "The store at \(path) is being wiped.") }
            return
        }
        guard Files.exists("\(path)/\(KeyRingFile.name)") || (options.createsIfMissing && !options.isReadOnly) else {
            guard !Files.exists("\(path)/\(wipedName)") else {
                throw StoreError(.wiped, "The store at \(path) was wiped.")
            }
            throw StoreError(.notFound, "There is no store at \(path).")
        }
    }

    /// A new store stands where one was wiped.
    static func forgetWipe(_ path: String) throws(StoreError) { try Files.remove("\(path)/\(wipedName)") }

    /// Destroys a store in the order after which nothing in the directory is readable: a synced intent, the keys
    /// overwritten, synced and removed, then the data, then the intent becomes the note that there was a wipe.
    static func wipe(_ path: String, protectedBy protector: any KeyProtector) throws(StoreError) {
        try Files.write([], to: "\(path)/\(intentName)", mode: 0o600, mustBeNew: false)
        try Files.syncDirectory(of: "\(path)/\(intentName)")
        try Files.destroy("\(path)/\(KeyRingFile.name)")
        try Files.destroy("\(path)/\(KeyRingFile.name).new")
        try protector.destroySecret(inDirectory: path)
        for name in dataNames { try Files.remove("\(path)/\(name)") }
        try Files.rename("\(path)/\(intentName)", to: "\(path)/\(wipedName)")
    }

    /// Finishes a wipe that was interrupted; true where there was one.
    static func finishWipe(_ path: String, protectedBy protector: any KeyProtector) throws(StoreError) -> Bool {
        guard Files.exists("\(path)/\(intentName)") else { return false }
        try wipe(path, protectedBy: protector)
        return true
    }
}

/// The lock that lets one opener write (flock(2)); released when it is gone, also by a crash.
@safe
final class WriterLock: Sendable {
    private let descriptor: Int32

    init(directory: String) throws(StoreError) {
        let path = "\(directory)/writer"
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure("open", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = String(decoding: (try? Files.read(path, upTo: 64)) ?? [], as: UTF8.self)
            close(descriptor)
            throw StoreError(
                .inUse, "The store at \(directory) is written by process \(holder.isEmpty ? "?" : holder).")
        }
        let identifier = Array("\(getpid())".utf8)
        ftruncate(descriptor, 0)
        _ = unsafe identifier.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit { close(descriptor) }
}

/// The directories open in this process: LMDB must never open one environment twice (its locks are the process's).
enum OpenDirectories {
    private static let paths = Lock<Set<String>>([])

    static func enter(_ path: String) throws(StoreError) {
        guard paths.withLock({ $0.insert(path).inserted }) else {
            throw StoreError(.inUse, "The store at \(path) is open in this process already.")
        }
    }

    static func leave(_ path: String) { paths.withLock { _ = $0.remove(path) } }
}
