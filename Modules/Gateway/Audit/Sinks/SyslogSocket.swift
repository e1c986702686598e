internal import Glibc
internal import SallyportBase

/// Sends each entry to a syslog daemon of this machine, as a datagram to its Unix socket.
///
/// Never waits: a daemon that takes nothing more loses the entry, and the numbers of the entries show the gap.
final class SyslogSocket: AuditSink {
    private let path: String
    private let host: String
    private let descriptor: Lock<Int32>

    var name: String { path }

    /// - Throws: `invalid` if the path is too long, `fileSystem` if nothing takes datagrams there.
    init(_ path: String, host: String) throws(GatewayError) {
        guard path.utf8.count < 108 else {
            throw GatewayError(.invalid, "The path of a syslog socket has at most 107 bytes.")
        }
        (self.path, self.host) = (path, host)
        descriptor = Lock(-1)
        let opened = try connected()
        descriptor.withLock { $0 = opened }
    }

    deinit { descriptor.withLock { if $0 >= 0 { close($0) } } }

    func write(_ entry: AuditEntry) throws(GatewayError) {
        let line = Array(SyslogLine.text(of: entry, host: host, process: getpid()).utf8)
        if send(line) { return }
        // A daemon that has begun anew has another socket.
        guard errno != EAGAIN, errno != EMSGSIZE else { throw failure() }
        let opened = try connected()
        let old = descriptor.withLock { descriptor -> Int32 in
            defer { descriptor = opened }
            return descriptor
        }
        if old >= 0 { close(old) }
        guard send(line) else { throw failure() }
    }

    private func send(_ line: [UInt8]) -> Bool {
        let descriptor = descriptor.withLock { $0 }
        return line.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count
        }
    }

    private func connected() throws(GatewayError) -> Int32 {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let made = socket(AF_UNIX, type, 0)
        guard made >= 0 else { throw failure() }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(made, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let failure = failure()
            close(made)
            throw failure
        }
        return made
    }

    private func failure() -> GatewayError {
        GatewayError(.fileSystem, "The syslog socket \(path) takes no entry: \(String(cString: strerror(errno))).")
    }
}
