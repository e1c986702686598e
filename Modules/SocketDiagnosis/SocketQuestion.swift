internal import SallyportBase

/// A request to the kernel about TCP sockets (sock_diag(7)), in bytes.
enum SocketQuestion: Sendable, Hashable {
    /// The connection with these ends.
    case look(TCPConnection)
    /// The connections at a local port, of one family.
    case list(family: UInt8, port: UInt16)
    /// Ends a connection, and says so.
    case destroy(TCPConnection)

    /// Those in which a connection can carry bytes: established, and half closed in either direction.
    private static let openStates: UInt32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11

    func bytes(sequence: UInt32) -> [UInt8] {
        switch self {
        case .look(let connection):
            Self.bytes(20, flags: 0x1, sequence, connection.family, ~0, connection.identifier)
        case .destroy(let connection):
            Self.bytes(21, flags: 0x5, sequence, connection.family, ~0, connection.identifier)
        case .list(let family, let port):
            Self.bytes(
                20, flags: 0x301, sequence, family, Self.openStates,
                port.bigEndianBytes + [UInt8](repeating: 0, count: TCPConnection.identifierLength - 2))
        }
    }

    /// `struct nlmsghdr` and `struct inet_diag_req_v2`.
    private static func bytes(
        _ type: UInt16, flags: UInt16, _ sequence: UInt32, _ family: UInt8, _ states: UInt32, _ identifier: [UInt8]
    ) -> [UInt8] {
        let body = [family, 6, 0, 0] + hostOrder(states) + identifier
        return hostOrder(UInt32(16 + body.count)) + hostOrder(type) + hostOrder(flags) + hostOrder(sequence)
            + hostOrder(UInt32(0)) + body
    }

    private static func hostOrder(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        number.bigEndian.bigEndianBytes
    }
}
