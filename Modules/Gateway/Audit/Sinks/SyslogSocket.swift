internal import Glibc

/// Sends each entry to a syslog daemon of this machine, as a datagram to its Unix socket.
///
/// Never waits: a daemon that takes nothing more loses the entry, and the numbers of the entries show the gap.
struct SyslogSocket: AuditSink {
    private let path: String
    private let host: String
    private var descriptor: SinkDescriptor

    /// - Throws: `invalid` if the path is too long, `fileSystem` if nothing takes datagrams there.
    init(_ path: String, host: String) throws(GatewayError) {
        guard path.utf8.count < 108 else {
            throw GatewayError(.invalid, "The path of a syslog socket has at most 107 bytes.")
        }
        (self.path, self.host) = (path, host)
        descriptor = try Self.connected(to: path)
    }

    mutating func write(_ entry: AuditEntry) throws(GatewayError) {
        let line = Array(SyslogLine.text(of: entry, host: host, process: getpid()).utf8)
        if send(line) { return }
        // A daemon that has begun anew has another socket.
        guard errno != EAGAIN, errno != EMSGSIZE else { throw Self.failure(of: path) }
        descriptor = try Self.connected(to: path)
        guard send(line) else { throw Self.failure(of: path) }
    }

    private func send(_ line: [UInt8]) -> Bool {
        line.withUnsafeBytes {
            Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count
        }
    }

    private static func connected(to path: String) throws(GatewayError) -> SinkDescriptor {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let made = socket(AF_UNIX, type, 0)
        guard made >= 0 else { throw failure(of: path) }
        let descriptor = SinkDescriptor(made)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(made, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw failure(of: path) }
        return descriptor
    }

    private static func failure(of path: String) -> GatewayError {
        GatewayError(.fileSystem, "The syslog socket \(path) takes no entry: \(String(cString: strerror(errno))).")
    }
}
