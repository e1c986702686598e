internal import CDoor
internal import Glibc
internal import SallyportCore

/// An address of the socket interface: of IPv4, IPv6, or a Unix socket.
@safe
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length = socklen_t(0)

    init(_ address: IPAddress, _ port: UInt16) {
        switch address {
        case .v4(let number):
            var ipv4 = sockaddr_in()
            ipv4.sin_family = sa_family_t(AF_INET)
            ipv4.sin_port = port.bigEndian
            ipv4.sin_addr.s_addr = number.bigEndian
            copy(ipv4)
        case .v6:
            var ipv6 = sockaddr_in6()
            ipv6.sin6_family = sa_family_t(AF_INET6)
            ipv6.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &ipv6.sin6_addr) { unsafe $0.copyBytes(from: address.bytes) }
            copy(ipv6)
        }
    }

    /// Nil for a path that does not fit.
    init?(path: String) {
        var local = sockaddr_un()
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count < MemoryLayout.size(ofValue: local.sun_path) else {
            return nil
        }
        local.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &local.sun_path) { unsafe $0.copyBytes(from: bytes) }
        copy(local)
    }

    /// The address that a socket is bound to; nil for one of another family.
    init?(of descriptor: Int32) {
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        guard result == 0, [AF_INET, AF_INET6, AF_UNIX].contains(Int32(storage.ss_family)) else { return nil }
        length = size
    }

    private mutating func copy<Address>(_ address: Address) {
        length = socklen_t(MemoryLayout<Address>.size)
        unsafe withUnsafeBytes(of: address) { source in
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.copyMemory(from: source) }
        }
    }

    /// Address and port; nil for a Unix socket.
    var internet: (IPAddress, UInt16)? {
        unsafe withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let ipv4 = unsafe bytes.load(as: sockaddr_in.self)
                return (.v4(UInt32(bigEndian: ipv4.sin_addr.s_addr)), UInt16(bigEndian: ipv4.sin_port))
            case AF_INET6:
                let ipv6 = unsafe bytes.load(as: sockaddr_in6.self)
                let address = unsafe withUnsafeBytes(of: ipv6.sin6_addr) { unsafe Array($0) }
                return IPAddress(bytes: address).map { ($0, UInt16(bigEndian: ipv6.sin6_port)) }
            default: return nil
            }
        }
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}
