internal import CLinux
internal import Glibc
internal import SallyportBase

/// The mode and owner of a file that a download has completed: those of the file that it replaces or, if there is none,
/// those that the umask gives.
enum TargetMode {
    /// Called before the file gets its name. Returns 0, or the error number.
    ///
    /// - Parameter umask: of the process for which this one loads; nil for this one's own.
    static func apply(to descriptor: Int32, _ partPath: String, replacing path: String, umask: mode_t?) -> Int32 {
        var old = stat()
        guard unsafe stat(path, &old) == 0, old.st_mode & S_IFMT == S_IFREG else {
            // A file system without modes refuses, and a directory's default ACL takes the place of the umask.
            if let umask, !hasDefaultACL(beside: partPath), fchmod(descriptor, 0o666 & ~umask) == 0 { return 0 }
            return useDefault(for: descriptor, partPath)
        }
        var own = stat()
        guard unsafe fstat(descriptor, &own) == 0 else { return errno }
        var mode = old.st_mode & 0o777
        // If the file cannot be given the old group, that group's rights must not pass to another group.
        if own.st_gid != old.st_gid, fchown(descriptor, uid_t.max, old.st_gid) != 0 { mode &= ~0o070 }
        // Only root can give a file away. For other users the file becomes theirs, as after any replacement.
        if own.st_uid != old.st_uid { _ = fchown(descriptor, old.st_uid, gid_t.max) }
        return fchmod(descriptor, mode) == 0 ? 0 : errno
    }

    private static func hasDefaultACL(beside path: String) -> Bool {
        unsafe getxattr(PathParts(path).directory, "system.posix_acl_default", nil, 0) >= 0
    }

    /// Applies the mode that the kernel gives a new file here, by the umask or the directory's default ACL. An empty
    /// file is created to find it out, since reading the umask would change it for the whole process.
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
