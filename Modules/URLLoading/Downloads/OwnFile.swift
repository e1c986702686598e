internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// A file that a download keeps beside its target so that a later download can continue it. Only the process's
/// effective user may have written it: otherwise the download would continue with bytes that no server sent.
enum OwnFile {
    /// Opens a file for reading and writing; creates it with mode 0600 if it is missing.
    ///
    /// - Throws: `fileSystem`, also for a file that ``check(_:_:)`` refuses.
    static func openOrMake(_ path: String) throws(LoadError) -> Int32 {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let made = unsafe open(path, flags | O_CREAT | O_EXCL, 0o600)
        if made >= 0 { return made }
        let found = unsafe errno == EEXIST ? open(path, flags) : -1
        guard found >= 0 else { throw DownloadFile.failure("\(path) cannot be made", errno) }
        try checkOrClose(found, path)
        return found
    }

    /// The content of a small file; nil if there is none.
    ///
    /// - Throws: `fileSystem` if ``check(_:_:)`` refuses it, or if it is longer than `limit` bytes.
    static func read(_ path: String, upTo limit: Int) throws(LoadError) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return nil }
            throw DownloadFile.failure("\(path) cannot be read", errno)
        }
        try checkOrClose(descriptor, path)
        defer { Glibc.close(descriptor) }
        do throws(BoundedFile.Failure) {
            return try BoundedFile.read(from: descriptor, named: path, upTo: limit)
        } catch {
            throw LoadError(.fileSystem, error.description)
        }
    }

    /// Replaces a small file, with mode 0600; durable when it returns. Returns 0, or the error number.
    static func replace(_ path: String, with bytes: [UInt8]) -> Int32 {
        let temporary = path + ".new"
        unsafe _ = unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { Glibc.close(descriptor) }
        guard (try? DownloadFile.write(bytes, to: descriptor, for: path)) != nil else { return EIO }
        guard fsync(descriptor) == 0 else { return errno }
        return DurableName.rename(temporary, to: path)
    }

    private static func checkOrClose(_ descriptor: Int32, _ path: String) throws(LoadError) {
        do throws(LoadError) {
            var info = stat()
            guard unsafe fstat(descriptor, &info) == 0 else {
                throw DownloadFile.failure("\(path) cannot be looked at", errno)
            }
            try check(info, path)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// - Parameter user: the user as which the process acts.
    /// - Throws: `fileSystem` for a file that is not regular, belongs to another user, can be reached by other users,
    ///   or has a second name through which it could be changed.
    static func check(_ info: stat, _ path: String, user: uid_t = geteuid()) throws(LoadError) {
        let reason: String
        if info.st_mode & S_IFMT != S_IFREG {
            reason = "is not a plain file"
        } else if info.st_uid != user {
            reason = "belongs to another user, with the number \(info.st_uid)"
        } else if info.st_mode & 0o077 != 0 {
            reason = "can be reached by others"
        } else if info.st_nlink > 1 {
            reason = "has other names, by links"
        } else {
            return
        }
        throw LoadError(.fileSystem, "\(path) \(reason): it is not gone on with. Remove it to begin anew.")
    }
}
