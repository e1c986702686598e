internal import CDoor
internal import Glibc

/// The file that stands for a Unix socket, known by its device and inode: what has come into its place meanwhile
/// belongs to another program, and is not removed.
package struct SocketFile: Sendable {
    struct Failure: Error {
        /// An `errno`.
        let number: Int32
    }

    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file of a socket that was just bound to a path; it has this mode then, whatever the umask is. If the mode
    /// cannot be set the file is removed; one that may be another socket's is left alone.
    ///
    /// - Parameter setMode: returns 0 or an `errno`.
    init(
        boundTo path: String, mode: mode_t,
        setMode: (HeldFile, mode_t) -> Int32 = { file, mode in file.setMode(mode) }
    ) throws(Failure) {
        let held = try HeldFile(path)
        defer { withExtendedLifetime(held) {} }
        guard let file = held.socketFile else { throw Failure(number: ENOTSOCK) }
        if held.status.st_mode & 0o7777 != mode {
            guard held.isOwn else { throw Failure(number: EPERM) }
            let number = setMode(held, mode)
            guard number == 0 else {
                file.remove()
                throw Failure(number: number)
            }
        }
        self = file
    }

    /// Nil for a file that is no socket.
    init?(_ path: String, _ status: stat) {
        guard status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Call it while the socket is open, or the file is held: only then is its inode no other file's.
    package func remove() {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        _ = unsafe unlink(path)
    }
}
