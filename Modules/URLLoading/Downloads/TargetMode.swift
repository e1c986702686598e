internal import Glibc

/// Who may reach a file that a download has completed: those who could reach the file that it replaces, or, where
/// there is none, those whom the process's umask lets.
enum TargetMode {
    /// Called before the file gets its name. 0, or the number of the error.
    static func apply(to descriptor: Int32, _ partPath: String, replacing path: String) -> Int32 {
        var old = stat()
        guard unsafe stat(path, &old) == 0, old.st_mode & S_IFMT == S_IFREG else {
            return useDefault(for: descriptor, partPath)
        }
        var own = stat()
        guard unsafe fstat(descriptor, &own) == 0 else { return errno }
        var mode = old.st_mode & 0o777
        // A group that the file cannot be given must not pass its rights on to another one.
        if own.st_gid != old.st_gid, fchown(descriptor, uid_t.max, old.st_gid) != 0 { mode &= ~0o070 }
        // Only root can: for others the file is theirs from now on, as it is after any replacement.
        if own.st_uid != old.st_uid { _ = fchown(descriptor, old.st_uid, gid_t.max) }
        return fchmod(descriptor, mode) == 0 ? 0 : errno
    }

    /// The mode that the kernel gives a new file here, by the umask or the directory's default access list: an empty
    /// file tells it, since the umask cannot be read without changing it for the whole process.
    private static func useDefault(for descriptor: Int32, _ partPath: String) -> Int32 {
        let path = partPath + ".mode"
        unsafe _ = unlink(path)
        let probe = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard probe >= 0 else { return errno }
        defer { Glibc.close(probe) }
        var info = stat()
        let isKnown = unsafe fstat(probe, &info) == 0
        unsafe _ = unlink(path)
        guard isKnown, fchmod(descriptor, info.st_mode & 0o777) == 0 else { return errno }
        return 0
    }
}
