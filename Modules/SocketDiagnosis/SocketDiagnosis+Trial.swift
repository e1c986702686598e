internal import Glibc
internal import SallyportCore

extension SocketDiagnosis {
    /// Ends a connection of this process's to itself, and throws if that fails: the kernel checks the privilege only for
    /// a connection that is there.
    package mutating func tryDestroying() throws(SocketDiagnosisError) {
        let pair = try LoopbackPair()
        guard let connection = try connection(pair.ends) else { throw SocketDiagnosisError(ENOENT) }
        try destroy(connection)
    }
}

/// A TCP connection of this process's to itself, which nothing accepts. Closed with this value.
private struct LoopbackPair: ~Copyable {
    private let listener: Int32
    private let client: Int32
    /// As the connecting side sees them.
    let ends: SocketEnds

    init() throws(SocketDiagnosisError) {
        let (listener, client) = (Self.socket(), Self.socket())
        do throws(SocketDiagnosisError) {
            ends = try Self.connect(client, to: listener)
        } catch {
            close(listener)
            close(client)
            throw error
        }
        (self.listener, self.client) = (listener, client)
    }

    deinit {
        close(listener)
        close(client)
    }

    private static func socket() -> Int32 { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0) }

    private static func connect(_ client: Int32, to listener: Int32) throws(SocketDiagnosisError) -> SocketEnds {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The pointers are used during each call only.
        let isConnected = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                var known = length
                return unsafe bind(listener, pointer, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, pointer, &known) == 0 && Glibc.connect(client, pointer, length) == 0
            }
        }
        guard isConnected, let own = port(of: client) else { throw SocketDiagnosisError(errno) }
        let there = SocketEnd(.v4(0x7f00_0001), port: UInt16(bigEndian: address.sin_port))
        return SocketEnds(local: SocketEnd(.v4(0x7f00_0001), port: own), remote: there)
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The pointer is used during the call only.
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
}
