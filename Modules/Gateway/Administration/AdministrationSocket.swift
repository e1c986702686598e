internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// Where the administration socket of a data directory lies, and how its messages are framed: one line of JSON each
/// way.
enum AdministrationSocket {
    /// The longest command, in bytes: a declaration of 1 MiB with every byte escaped.
    static let maximumCommand = 8 << 20
    /// The longest answer, in bytes: a list of some 200,000 instances.
    static let maximumAnswer = 64 << 20

    static func directory(of data: String) -> String { "\(data)/run" }

    /// Whether a gateway has made the directory: it stays when the gateway ends.
    static func hasDirectory(in data: String) -> Bool {
        FileStatus(of: directory(of: data))?.kind == .directory
    }

    static func plainPath(of data: String) -> String { "\(directory(of: data))/admin.sock" }

    /// A path that fits into `sun_path` however long the directory's is: through the open directory.
    static func path(of data: String) throws(GatewayError) -> (path: String, directory: DirectoryHandle?) {
        let plain = plainPath(of: data)
        guard plain.utf8.count > 100 else { return (plain, nil) }
        let handle = try DirectoryHandle(directory(of: data))
        return ("/proc/self/fd/\(handle.descriptor)/admin.sock", handle)
    }
}

/// Keeps a directory open.
final class DirectoryHandle: Sendable {
    let descriptor: Int32

    init(_ path: String) throws(GatewayError) {
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw GatewayError(.unreachable, "No gateway runs on this directory.") }
    }

    deinit { close(descriptor) }
}
