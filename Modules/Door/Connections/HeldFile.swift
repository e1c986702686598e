internal import CDoor
internal import Glibc

/// What is at a path, held open: as long as it is, no other file gets its inode, even if it is removed meanwhile. Links
/// are not followed.
final class HeldFile {
    let path: String
    let status: stat
    private let descriptor: Int32

    /// - Throws: `ENOENT` if nothing is there.
    init(_ path: String) throws(SocketFile.Failure) {
        var status = stat()
        let result = unsafe sallyport_hold_file(path, &status)
        guard result >= 0 else { throw SocketFile.Failure(number: -result) }
        self.path = path
        self.status = status
        descriptor = result
    }

    deinit { close(descriptor) }

    /// The file of a socket; nil for anything else.
    var socketFile: SocketFile? { SocketFile(path, status) }

    /// Whether it belongs to the process's user, and has no other name.
    var isOwn: Bool { status.st_uid == geteuid() && status.st_nlink == 1 }

    /// - Returns: 0, or an `errno`.
    func setMode(_ mode: mode_t) -> Int32 { -sallyport_set_mode_of_held_file(descriptor, mode) }
}
