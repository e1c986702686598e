package import SallyportCore

/// One end of a TCP connection. An IPv4-mapped address counts as the IPv4 address that it carries: a relay that listens
/// for both families reports its clients so, and the kernel finds the connection by either.
package struct SocketEnd: Sendable, Hashable, CustomStringConvertible {
    package let address: IPAddress
    package let port: UInt16

    package init(_ address: IPAddress, port: UInt16) {
        self.address = Self.unmapped(address)
        self.port = port
    }

    private static func unmapped(_ address: IPAddress) -> IPAddress {
        guard case .v6(0, let low) = address, low >> 32 == 0xffff else { return address }
        return .v4(UInt32(truncatingIfNeeded: low))
    }

    package var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)]:\(port)"
        }
    }
}

/// Both ends of a TCP connection, as a server sees it.
package struct SocketEnds: Sendable, Hashable {
    package let local: SocketEnd
    package let remote: SocketEnd

    package init(local: SocketEnd, remote: SocketEnd) {
        self.local = local
        self.remote = remote
    }
}
