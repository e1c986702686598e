extension IPAddress {
    /// Further addresses that a connection to this one may reach: the IPv4 address inside an IPv6 address (mapped,
    /// compatible, translated, NAT64, 6to4, Teredo), and the loopback address for the unspecified one, since Linux
    /// connects to it.
    ///
    /// A NAT64 prefix of a network's own looks like any other prefix, so addresses under it are not recognised.
    package var aliases: [IPAddress] {
        switch self {
        case .v4(0): [.v4(0x7f00_0001)]
        case .v4: []
        case .v6(0, 0): [.v6(high: 0, low: 1)]
        case .v6(let high, let low): Self.carried(high, low).flatMap { [.v4($0)] + IPAddress.v4($0).aliases }
        }
    }

    private static func carried(_ high: UInt64, _ low: UInt64) -> [UInt32] {
        let last = UInt32(truncatingIfNeeded: low)
        switch (high, low >> 32) {
        // RFC 4291 §2.5.5. In the first form (IPv4-compatible), `::1` does not stand for an IPv4 address.
        case (0, 0): return low == 1 ? [] : [last]
        case (0, 0xffff): return [last]
        // RFC 7915 §1.
        case (0, 0xffff_0000): return [last]
        // RFC 6052 §2.1.
        case (0x0064_ff9b_0000_0000, 0): return [last]
        default: return tunnelled(high, low)
        }
    }

    private static func tunnelled(_ high: UInt64, _ low: UInt64) -> [UInt32] {
        switch high >> 32 {
        // RFC 3056 §2.
        case 0x2002_0000...0x2002_ffff: return [UInt32(truncatingIfNeeded: high >> 16)]
        // RFC 4380 §4: the server, and the client with its bits inverted.
        case 0x2001_0000: return [UInt32(truncatingIfNeeded: high), ~UInt32(truncatingIfNeeded: low)]
        case 0x0064_ff9b where (high >> 16) & 0xffff == 1: return translatedLocally(high, low)
        default: return []
        }
    }

    /// 64:ff9b:1::/48 (RFC 8215): a host does not know which prefix inside it a network has chosen, so the IPv4 address
    /// is read from each place that RFC 6052 §2.2 gives for /48, /56, /64 and /96.
    private static func translatedLocally(_ high: UInt64, _ low: UInt64) -> [UInt32] {
        let number = UInt32(truncatingIfNeeded: low >> 24)
        return [
            UInt32(truncatingIfNeeded: high & 0xffff) << 16 | UInt32(truncatingIfNeeded: low >> 40) & 0xffff,
            UInt32(truncatingIfNeeded: high & 0xff) << 24 | UInt32(truncatingIfNeeded: low >> 32) & 0xff_ffff,
            number, UInt32(truncatingIfNeeded: low),
        ]
    }
}
