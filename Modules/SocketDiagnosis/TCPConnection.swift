internal import SallyportBase
internal import SallyportCore

/// A TCP connection of this machine, as the kernel names it. A later connection with the same ends is another one.
package struct TCPConnection: Sendable, Hashable {
    package let ends: SocketEnds
    /// AF_INET or AF_INET6.
    let family: UInt8
    /// `struct inet_diag_sockid`: ports, addresses, interface and cookie.
    let identifier: [UInt8]

    static let identifierLength = 48

    /// Nil unless these are the bytes of an identifier.
    init?(family: UInt8, identifier: [UInt8]) {
        guard identifier.count == Self.identifierLength, let length = Self.addressLength(family),
            let local = Self.end(identifier, port: 0, address: 4, length),
            let remote = Self.end(identifier, port: 2, address: 20, length)
        else { return nil }
        self.family = family
        self.identifier = identifier
        ends = SocketEnds(local: local, remote: remote)
    }

    /// A connection that is looked for: the kernel takes this cookie for every one.
    init?(searching ends: SocketEnds) {
        let (local, remote) = (ends.local.address.bytes, ends.remote.address.bytes)
        guard local.count == remote.count else { return nil }
        self.ends = ends
        family = local.count == 4 ? 2 : 10
        let padding = [UInt8](repeating: 0, count: 16 - local.count)
        identifier =
            ends.local.port.bigEndianBytes + ends.remote.port.bigEndianBytes + local + padding + remote + padding
            + [UInt8](repeating: 0, count: 4) + [UInt8](repeating: 0xff, count: 8)
    }

    private static func addressLength(_ family: UInt8) -> Int? {
        switch family {
        case 2: 4
        case 10: 16
        default: nil
        }
    }

    private static func end(_ bytes: [UInt8], port: Int, address: Int, _ length: Int) -> SocketEnd? {
        IPAddress(bytes: Array(bytes[address..<(address + length)])).map {
            SocketEnd($0, port: UInt16(bigEndianBytes: bytes[port..<(port + 2)]))
        }
    }
}
