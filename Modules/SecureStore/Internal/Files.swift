internal import CSecureStore
internal import Glibc
internal import SallyportBase

/// The few file operations that a store needs; each is durable when it returns.
enum Files {
    /// Whether there may be a file: what cannot be looked at, in a closed directory or on a broken disk, is not missing.
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 || !isMissing(errno) }

    private static func isMissing(_ number: Int32) -> Bool { number == ENOENT || number == ENOTDIR }

    /// Whether this process may look for files in a directory. If not, `errno` is set.
    static func isOpen(directory path: String) -> Bool {
        unsafe access("\(path)/.", F_OK) == 0 || errno != EACCES
    }

    /// - Parameter verb: what the process cannot do if there is an error.
    static func status(of path: String, to verb: String = "look at") throws(StoreError) -> stat {
        var info = stat()
        guard unsafe stat(path, &info) == 0 else { throw failure(verb, path) }
        return info
    }

    /// Distinguishes a file from an earlier one with the same name.
    struct Identity: Sendable, Equatable {
        private let inode: ino_t
        private let seconds: Int
        private let nanoseconds: Int

        fileprivate init(_ info: stat) {
            inode = info.st_ino
            seconds = info.st_mtim.tv_sec
            nanoseconds = info.st_mtim.tv_nsec
        }
    }

    static func identity(of path: String) -> Identity? {
        var info = stat()
        return unsafe stat(path, &info) == 0 ? Identity(info) : nil
    }

    static func realPath(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    static func read(_ path: String, upTo limit: Int) throws(StoreError) -> [UInt8] {
        do throws(BoundedFile.Failure) { return try BoundedFile.read(path, upTo: limit) } catch {
            switch error.reason {
            case .missing: throw StoreError(.notFound, "There is no file \(path).")
            case .tooLong: throw StoreError(.tooLarge, "\(path) is over \(limit) bytes.")
            case .notRegular: throw StoreError(.fileSystem, error.description)
            case .system(let number):
                errno = number
                throw failure("read", path)
            }
        }
    }

    /// As ``read(_:upTo:)``, for a file that ``replaceSecret(_:with:mode:inPlace:)`` may replace meanwhile, which
    /// overwrites the content that is being read: reads again if the path names another file afterwards.
    static func readCurrent(_ path: String, upTo limit: Int) throws(StoreError) -> [UInt8] {
        for _ in 0..<readAttempts {
            let before = identity(of: path)
            let bytes = try read(path, upTo: limit)
            if identity(of: path) == before { return bytes }
        }
        throw StoreError(.inUse, "\(path) is replaced faster than it can be read.")
    }

    private static let readAttempts = 100

    static func openForReading(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ENOENT ? StoreError(.notFound, "There is no file \(path).") : failure("read", path)
        }
        return descriptor
    }

    /// Reads available bytes into `buffer`; 0 at the file's end.
    private static func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, _ path: String
    ) throws(StoreError) -> Int {
        while true {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path) }
            return count
        }
    }

    /// Passes the content of a small file to `body` and clears it afterwards.
    ///
    /// - Parameter check: is called with the open file before any of it is read, so that the file cannot be replaced
    ///   between the check and the reading.
    static func withSecret<Result>(
        _ path: String, upTo limit: Int, checking check: (stat) throws(StoreError) -> Void = { _ in },
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let descriptor = try openForReading(path)
        defer { close(descriptor) }
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw failure("look at", path) }
        try check(info)
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: limit + 1, alignment: 16)
        defer {
            unsafe sp_clear(bytes.baseAddress, bytes.count)
            unsafe bytes.deallocate()
        }
        var filled = 0
        while filled <= limit {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
            let count = unsafe try fill(rest, from: descriptor, path)
            if count == 0 { break }
            filled += count
        }
        guard filled <= limit else { throw StoreError(.tooLarge, "\(path) is over \(limit) bytes.") }
        return try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[0..<filled]))
    }

    /// Writes and syncs a file.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t, mustBeNew: Bool) throws(StoreError) {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mustBeNew ? O_EXCL : O_TRUNC)
        let descriptor = unsafe open(path, flags, mode)
        guard descriptor >= 0 else { throw failure("make", path) }
        defer { close(descriptor) }
        try writeAll(bytes, to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw failure("sync", path) }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(StoreError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, $0.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", path) }
            written += count
        }
    }

    /// Replaces a file's content: after a crash, either the old or the new content is there completely.
    static func replace(_ path: String, with bytes: [UInt8], mode: mode_t) throws(StoreError) {
        try put(bytes, at: path, mode: mode)
        try syncDirectory(of: path)
    }

    /// As ``replace(_:with:mode:)``, but a loss of power may still bring the old content back.
    private static func put(_ bytes: [UInt8], at path: String, mode: mode_t) throws(StoreError) {
        let temporary = path + ".new"
        unsafe _ = unlink(temporary)
        try write(bytes, to: temporary, mode: mode, mustBeNew: true)
        guard unsafe Glibc.rename(temporary, path) == 0 else { throw failure("rename", temporary) }
    }

    /// Creates a file, completely or not at all, unless there is one: then that one is durable under its name.
    static func createIfMissing(_ path: String, with bytes: [UInt8], mode: mode_t) throws(StoreError) {
        try linkNew(path, with: bytes, mode: mode)
        try syncDirectory(of: path)
    }

    private static func linkNew(_ path: String, with bytes: [UInt8], mode: mode_t) throws(StoreError) {
        // A name for this call alone: another one, also in this process, may create the same file at the same time.
        let temporary = "\(path).new.\(UInt64.random(in: 0...UInt64.max))"
        defer { unsafe _ = unlink(temporary) }
        try write(bytes, to: temporary, mode: mode, mustBeNew: true)
        guard unsafe link(temporary, path) == 0 || errno == EEXIST else { throw failure("make", path) }
    }

    /// As ``replace(_:with:mode:)``, and overwrites the old content, so that it does not stay in free blocks; if that
    /// fails, the file is replaced nevertheless. A crash in between leaves the old blocks of a file without a name.
    ///
    /// - Parameter inPlace: is called when the new content is in force, before it is durable. If it is not called, nothing
    ///   has changed.
    static func replaceSecret(
        _ path: String, with bytes: [UInt8], mode: mode_t, inPlace: () -> Void = {}
    ) throws(StoreError) {
        let old = openForOverwriting(path)
        defer { if old >= 0 { close(old) } }
        try put(bytes, at: path, mode: mode)
        inPlace()
        // First: a loss of power must not bring back content that was overwritten.
        try syncDirectory(of: path)
        if old >= 0 { try? overwrite(old, path) }
    }

    /// Opens a file for writing, also one that its owner made read-only. Returns -1 with `errno` if that fails.
    private static func openForOverwriting(_ path: String) -> Int32 {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor < 0, errno == EACCES, unsafe chmod(path, 0o600) == 0 else { return descriptor }
        return unsafe open(path, O_WRONLY | O_CLOEXEC)
    }

    private struct OverwritingFailure: Error {
        let cause: StoreError
        /// Whether it is only for the moment that the process, or the system, can open no file.
        let mayPass: Bool
    }

    private static func overwrite(_ path: String) throws(OverwritingFailure) {
        let descriptor = openForOverwriting(path)
        let number = errno
        guard descriptor >= 0 else {
            let mayPass = number == EMFILE || number == ENFILE || number == ENOMEM || number == EINTR
            errno = number
            throw OverwritingFailure(cause: failure("overwrite", path), mayPass: mayPass)
        }
        defer { close(descriptor) }
        do throws(StoreError) { try overwrite(descriptor, path) } catch {
            throw OverwritingFailure(cause: error, mayPass: false)
        }
    }

    private static func overwrite(_ descriptor: Int32, _ path: String) throws(StoreError) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw failure("look at", path) }
        try writeAll(SystemRandom.bytes(min(Int(info.st_size), 1 << 20)), to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw failure("sync", path) }
    }

    /// Overwrites, syncs and removes a file; if there is none, this is no error.
    ///
    /// A file that cannot be overwritten, on a full copy-on-write file system or a bad block, is removed nevertheless:
    /// with room again, its old blocks would not be overwritten either. It stays if it could not be opened for the
    /// moment, since a later attempt may overwrite it.
    ///
    /// - Parameter isLastAttempt: whether the file is removed in that case too.
    /// - Throws: the first error, with ``FileNotOverwritten`` as the underlying one if the file was removed.
    static func destroy(_ path: String, isLastAttempt: Bool = false) throws(StoreError) {
        guard exists(path) else { return }
        do throws(OverwritingFailure) { try overwrite(path) } catch {
            let cause = error.cause
            guard isLastAttempt || !error.mayPass else { throw cause }
            try? remove(path)
            guard !exists(path) else { throw cause }
            throw StoreError(
                cause.code, cause.message, underlying: FileNotOverwritten(), fileID: cause.location.fileID,
                line: cause.location.line)
        }
        try remove(path)
    }

    /// Removes a file and syncs its directory; if there is none, this is no error.
    static func remove(_ path: String) throws(StoreError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw failure("remove", path) }
        try syncDirectory(of: path)
    }

    static func rename(_ path: String, to other: String) throws(StoreError) {
        guard unsafe Glibc.rename(path, other) == 0 else { throw failure("rename", path) }
        try syncDirectory(of: other)
    }

    /// Whether a file cannot grow: its file system has no room, or the process may not make it longer.
    static func isFull(_ path: String) -> Bool {
        let page = 4096
        var system = statvfs()
        if unsafe statvfs(path, &system) == 0, Int(system.f_bavail) * Int(system.f_frsize) < 16 * page { return true }
        var limit = rlimit()
        var info = stat()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
            unsafe stat(path, &info) == 0, limit.rlim_cur < UInt64(Int.max)
        else { return false }
        return Int(info.st_size) > Int(limit.rlim_cur) - page
    }

    static func sync(_ path: String) throws(StoreError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("sync", path) }
    }

    /// Removes a directory with the files in it; if there is none, this is no error.
    static func removeDirectory(_ path: String) throws(StoreError) {
        guard exists(path) else { return }
        try removeFiles(in: path)
        guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw failure("remove", path) }
        try syncDirectory(of: path)
    }

    /// Removes the files in a directory.
    static func removeFiles(in path: String) throws(StoreError) {
        for name in try names(in: path) {
            guard unsafe unlink("\(path)/\(name)") == 0 || errno == ENOENT else { throw failure("remove", path) }
        }
    }

    static func names(in path: String) throws(StoreError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw failure("read", path) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func syncDirectory(of path: String) throws(StoreError) {
        let parent = PathParts(path).directory
        let descriptor = unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", parent) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("sync", parent) }
    }

    /// Creates a directory that only its owner can enter, and its missing parent directories, which are the same.
    static func makeDirectory(_ path: String) throws(StoreError) {
        guard !exists(path) else { return }
        let parent = PathParts(path).directory
        if parent != ".", parent != "/" { try makeDirectory(parent) }
        try makeDirectoryAlone(path)
    }

    /// As ``makeDirectory(_:)``, in a parent directory that must exist.
    static func makeDirectoryAlone(_ path: String) throws(StoreError) {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("make", path) }
        try syncDirectory(of: path)
    }

    static func failure(
        _ verb: String, _ path: String, fileID: StaticString = #fileID, line: UInt = #line
    ) -> StoreError {
        let number = errno
        let reason = unsafe String(cString: strerror(number))
        let code: StoreError.Code = [ENOSPC, EDQUOT, EFBIG].contains(number) ? .full : .fileSystem
        return StoreError(code, "Cannot \(verb) \(path): \(reason).", fileID: fileID, line: line)
    }
}

/// The underlying error if a file with a secret was removed that could not be overwritten: no later attempt finds it,
/// and what it held may still lie in free blocks.
struct FileNotOverwritten: Error {}

/// The file to which a path leads; nil if there is none.
struct FileIdentity: Hashable, Sendable {
    private let device: dev_t
    private let number: ino_t

    init?(_ path: String) {
        var info = stat()
        guard unsafe stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    init?(descriptor: Int32) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { return nil }
        self.init(info)
    }

    init(_ info: stat) { (device, number) = (info.st_dev, info.st_ino) }
}
