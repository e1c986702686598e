internal import Glibc

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// Whether something takes connections there.
    package static func isTaken(_ port: UInt16) -> Bool {
        guard let descriptor = connect(port) else { return false }
        close(descriptor)
        return true
    }

    /// One that nothing listens at now.
    package static func free() -> UInt16 {
        var port: UInt16
        repeat { port = .random(in: 20_000..<32_000) } while isTaken(port)
        return port
    }

    /// The caller's to close; nil where nothing takes connections.
    static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
