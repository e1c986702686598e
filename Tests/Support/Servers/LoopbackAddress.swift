internal import Glibc

/// 127.0.0.1 and a port of it, as calls of the kernel take it.
struct LoopbackAddress {
    private var address = sockaddr_in()
    private var length = socklen_t(MemoryLayout<sockaddr_in>.size)

    init(_ port: UInt16 = 0) {
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    }

    /// Binds a socket to a free port.
    static func bind(_ descriptor: Int32) throws -> UInt16 {
        var bound = LoopbackAddress()
        guard bound.with({ Glibc.bind(descriptor, $0, $1.pointee) }) == 0,
            bound.with({ getsockname(descriptor, $0, $1) }) == 0
        else { throw TestServerError.cannotListen }
        return UInt16(bigEndian: bound.address.sin_port)
    }

    func isSame(as other: LoopbackAddress) -> Bool {
        address.sin_family == other.address.sin_family && address.sin_port == other.address.sin_port
            && address.sin_addr.s_addr == other.address.sin_addr.s_addr
    }

    /// - Returns: what the call returns, 0 where all went well.
    mutating func with(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> Int32 {
        withUnsafeMutablePointer(to: &address) { address in
            withUnsafeMutablePointer(to: &length) { length in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, length) }
            }
        }
    }
}
