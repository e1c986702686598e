internal import Glibc
internal import SallyportCore

/// Where the administration socket of a data directory lies, and how its messages are framed: one line of JSON each
/// way.
enum AdministrationSocket {
    /// In bytes: a declaration of 1 MiB with every byte escaped.
    static let maximumMessage = 8 << 20

    static func directory(of data: String) -> String { "\(data)/run" }

    /// A path that fits into `sun_path` however long the directory's is: through the open directory.
    static func path(of data: String) throws(GatewayError) -> (path: String, directory: DirectoryHandle?) {
        let plain = "\(directory(of: data))/admin.sock"
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
