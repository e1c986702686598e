internal import Glibc

/// 127.0.0.1 or another host, and a port of it, as calls of the kernel take it.
struct LoopbackAddress {
    private var address = sockaddr_in()
    private var length = socklen_t(MemoryLayout<sockaddr_in>.size)

    /// All addresses of this machine.
    static let anyHost: UInt32 = 0

    init(_ port: UInt16 = 0, host: UInt32 = 0x7f00_0001) {
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(host).bigEndian
    }

    /// Binds a socket to a free port.
    static func bind(_ descriptor: Int32) throws -> UInt16 {
        // One that is free for streams may be in use for datagrams.
        for _ in 0..<100 {
            let port = LoopbackPort.free()
            var address = LoopbackAddress(port)
            if address.with({ Glibc.bind(descriptor, $0, $1.pointee) }) == 0 { return port }
        }
        throw TestServerError.cannotListen
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
