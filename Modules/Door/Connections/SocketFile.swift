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

    /// The file of a socket that was just bound to a path; it has this mode then, whatever the umask is.
    init(boundTo path: String, mode: mode_t) throws(Failure) {
        var status = stat()
        let result = unsafe sallyport_settle_socket_file(path, mode, &status)
        guard result == 0, let file = SocketFile(path, status) else { throw Failure(number: -result) }
        self = file
    }

    /// Nil for a file that is no socket.
    init?(_ path: String, _ status: stat) {
        guard status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Call it while the socket is open: only then is its inode no other file's.
    package func remove() {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        _ = unsafe unlink(path)
    }
}
