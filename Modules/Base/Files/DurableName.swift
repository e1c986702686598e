internal import Glibc

/// Names of files that survive a loss of power: a name is durable once its directory is synced.
package enum DurableName {
    /// Gives a file another name, in place of what has that name, and syncs the directory. Waits for the disk.
    ///
    /// - Parameter path: of a file that is synced already.
    /// - Returns: 0, or the number of the error. If only the sync has failed, the file has its new name, which a loss
    ///   of power may take back.
    package static func rename(_ path: String, to target: String) -> Int32 {
        guard unsafe Glibc.rename(path, target) == 0 else { return errno }
        return keep(target)
    }

    /// Gives an open file a name, which it has none of so far (`O_TMPFILE`, open(2)), and syncs the directory. Waits for
    /// the disk.
    ///
    /// - Parameter descriptor: of a file that is synced already.
    /// - Returns: 0, or the number of the error, such as EEXIST if the name is taken. The file then has no name.
    package static func link(_ descriptor: Int32, as target: String) -> Int32 {
        let file = "/proc/self/fd/\(descriptor)"
        guard unsafe linkat(AT_FDCWD, file, AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0 else { return errno }
        let error = keep(target)
        if error != 0 { unsafe unlink(target) }
        return error
    }

    /// Syncs the directory of a name.
    private static func keep(_ name: String) -> Int32 {
        let directory = unsafe open(PathParts(name).directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A directory that this user may write and not read, or of a file system that syncs none, cannot be synced.
        guard directory >= 0 else { return errno == EACCES ? 0 : errno }
        defer { close(directory) }
        guard fsync(directory) != 0 else { return 0 }
        return errno == EINVAL || errno == ENOTSUP ? 0 : errno
    }
}
