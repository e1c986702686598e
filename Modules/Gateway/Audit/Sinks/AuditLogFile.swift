internal import Glibc
internal import SallyportBase

/// Appends a line of JSON for each entry to a file, or to standard output.
///
/// A file that was moved away or removed, as `logrotate` does it, is begun anew at the next entry.
struct AuditLogFile: AuditSink {
    private let path: String
    /// Nil for standard output.
    private var file: OpenFile?
    /// Whether the last line lacks its end, as on a disk that was full.
    private var isLineOpen = false
    /// Whether the last wait for the reader of a pipe was in vain.
    private var hasWaited = false

    private struct OpenFile {
        let descriptor: SinkDescriptor
        let status: FileStatus

        func isAt(_ path: String) -> Bool {
            guard let found = FileStatus(of: path) else { return false }
            return found.device == status.device && found.number == status.number
        }
    }

    /// What messages call it.
    private var name: String { path == "-" ? "standard output" : path }

    /// - Parameter path: `-` for standard output. A new file is for its owner only.
    /// - Throws: `fileSystem`.
    init(_ path: String) throws(GatewayError) {
        self.path = path
        if path != "-" { _ = try reopened() }
    }

    mutating func write(_ entry: AuditEntry) throws(GatewayError) {
        let descriptor = path == "-" ? STDOUT_FILENO : try fileDescriptor()
        var rest = Array(((isLineOpen ? "\n" : "") + entry.json + "\n").utf8)[...]
        while !rest.isEmpty {
            // A pipe that says that it takes something takes so much without blocking.
            let part = rest.prefix(Int(PIPE_BUF))
            guard takes(descriptor) else { throw takesNothing() }
            let count = part.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                // Another writer of the same pipe has taken the room.
                if errno == EAGAIN { throw takesNothing() }
                guard errno == EINTR else { throw failure() }
                continue
            }
            rest = rest.dropFirst(count)
            isLineOpen = !rest.isEmpty
        }
    }

    /// Waits a second at most: a pipe that is not read must not hold the gateway's end up. After a wait in vain it looks
    /// without waiting until the pipe takes something again: otherwise each entry of the queue would cost a second.
    private mutating func takes(_ descriptor: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let isReady = poll(&polled, 1, hasWaited ? 0 : 1000) == 1
        hasWaited = !isReady
        // An error is that of a pipe whose reader is gone: a write would be answered by SIGPIPE.
        return isReady && polled.revents & Int16(POLLERR) == 0
    }

    private mutating func fileDescriptor() throws(GatewayError) -> Int32 {
        if let file, file.isAt(path) { return file.descriptor.number }
        return try reopened()
    }

    private mutating func reopened() throws(GatewayError) -> Int32 {
        // Otherwise open(2) waits for the reader of a pipe that has none.
        let number = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard number >= 0 else { throw errno == ENXIO ? cannotBeOpened() : failure() }
        let descriptor = SinkDescriptor(number)
        guard let status = FileStatus(of: number) else { throw failure() }
        file = OpenFile(descriptor: descriptor, status: status)
        isLineOpen = false
        return number
    }

    private func takesNothing() -> GatewayError {
        GatewayError(.fileSystem, "The audit log \(name) takes no entry: its reader has stopped reading.")
    }

    /// Of ENXIO.
    private func cannotBeOpened() -> GatewayError {
        let isSocket = FileStatus(of: path)?.kind == .socket
        let reason =
            isSocket
            ? "it is a socket, such as that of a syslog daemon, which has an option of its own"
            : "nothing reads this pipe, so start its reader first"
        return GatewayError(.fileSystem, "The audit log \(name) cannot be written: \(reason).")
    }

    private func failure() -> GatewayError {
        GatewayError(
            .fileSystem, "The audit log \(name) cannot be written: \(String(cString: strerror(errno))).")
    }
}
