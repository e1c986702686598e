internal import SallyportBase

/// A network in CIDR notation: all addresses that begin with the same bits (RFC 4632, RFC 4291 §2.3).
public struct IPNetwork: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    /// The first address of the network.
    public let address: IPAddress
    /// The length of the prefix in bits: 0 to 32, or to 128 for IPv6.
    public let bits: UInt8

    /// Reads `ADDRESS/BITS`, the address as ``IPAddress`` reads it; nil if any bit after the prefix is set.
    public init?(_ text: String) {
        guard let network = Self.around(text), network.isExact else { return nil }
        self = network.network
    }

    /// The network with a prefix of this length that contains the address; nil if an address has fewer bits.
    package init?(of address: IPAddress, bits: UInt8) {
        guard bits <= address.width else { return nil }
        self.address = address.masked(bits)
        self.bits = bits
    }

    /// The network that contains this address alone.
    package init(_ address: IPAddress) { (self.address, bits) = (address, address.width) }

    /// Reads `ADDRESS/BITS`, also if bits after the prefix are set: then `isExact` is false and the network is the one
    /// that contains the address.
    package static func around(_ text: String) -> (network: IPNetwork, isExact: Bool)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (48...57).contains($0) }), parts[1] == "0" || parts[1].first != "0",
            let bits = UInt8(parts[1]), let network = IPNetwork(of: address, bits: bits)
        else { return nil }
        return (network, network.address == address)
    }

    /// Whether the address begins with the network's bits. False for an address of the other family, also for an IPv6
    /// form that carries an IPv4 address.
    public func contains(_ address: IPAddress) -> Bool {
        address.width == self.address.width && address.masked(bits) == self.address
    }

    public var description: String { "\(address)/\(bits)" }
}

extension IPNetwork: Comparable {
    /// Orders IPv4 before IPv6, then by first address, then larger networks before those inside them.
    public static func < (one: IPNetwork, other: IPNetwork) -> Bool {
        (one.address.width, one.address.leading, one.bits) < (other.address.width, other.address.leading, other.bits)
    }
}

extension IPNetwork: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let network = IPNetwork(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A network is ADDRESS/BITS, the bits behind them zero.")
        }
        self = network
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension IPAddress {
    /// The address's length in bits: 32 or 128.
    var width: UInt8 { if case .v4 = self { 32 } else { 128 } }

    /// The address's bits as a number, the first bit in the most significant place.
    var leading: UInt128 {
        switch self {
        case .v4(let number): UInt128(number) << 96
        case .v6(let high, let low): UInt128(high) << 64 | UInt128(low)
        }
    }

    /// The address with all bits after the first `bits` set to zero.
    func masked(_ bits: UInt8) -> IPAddress {
        let kept = leading & UInt128.max << (128 - Int(bits))
        return switch self {
        case .v4: .v4(UInt32(truncatingIfNeeded: kept >> 96))
        case .v6: .v6(high: UInt64(truncatingIfNeeded: kept >> 64), low: UInt64(truncatingIfNeeded: kept))
        }
    }
}
