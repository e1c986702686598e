internal import NIOCore
internal import SallyportCore

/// The source of a connection, as limits count it: an IPv4 address, or the /64 of IPv6 that one site has.
struct ConnectionSource: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 8 bytes; empty if the address is not known.
    let network: [UInt8]

    init(_ address: IPAddress?) {
        guard let address else {
            network = []
            return
        }
        guard case .v6(let high, let low) = address else {
            network = address.bytes
            return
        }
        // On a dual-stack listener, an IPv4 client's address is ::ffff:A.B.C.D.
        let isMapped = high == 0 && low >> 32 == 0xffff
        network = isMapped ? Array(address.bytes.suffix(4)) : Array(address.bytes.prefix(8))
    }

    init(_ address: SocketAddress?) { self.init(address?.ipAddress.flatMap { IPAddress($0) }) }

    var description: String {
        switch network.count {
        case 4: IPAddress(bytes: network).map { "\($0)" } ?? "-"
        case 8: IPAddress(bytes: network + [UInt8](repeating: 0, count: 8)).map { "\($0)/64" } ?? "-"
        default: "-"
        }
    }
}
