/// Hosts that are reached without a proxy.
public struct ProxyException: Sendable, Hashable, CustomStringConvertible {
    private enum Rule: Sendable, Hashable {
        case host(Host)
        /// Every name below it, with the dot.
        case below(String)
        case network(IPNetwork)
        case localhost
    }

    private let rule: Rule
    public let description: String

    /// Reads one of:
    /// - `name.example`: this name and no other;
    /// - `.example` or `*.example`: every name below it;
    /// - `192.0.2.1`, `2001:db8::1`: this address, where the URL has an address;
    /// - `192.0.2.0/24`, `2001:db8::/32`: the addresses of a network (RFC 4632);
    /// - `localhost`: it, the names below it, and the addresses of the loopback.
    ///
    /// Names are not looked up: an address covers no name.
    public init(_ text: String) throws(AddressError) {
        if text.contains("/") {
            guard let network = IPNetwork(text) else {
                throw AddressError(.invalidHost, "A network is ADDRESS/BITS, the bits behind them zero.")
            }
            (rule, description) = (.network(network), "\(network)")
        } else if text.hasPrefix(".") || text.hasPrefix("*.") {
            let name = try Host(String(text.drop { $0 == "*" }.dropFirst()))
            guard case .name(let suffix) = name else {
                throw AddressError(.invalidHost, "Below an address there is nothing.")
            }
            (rule, description) = (.below(".\(suffix)"), ".\(suffix)")
        } else {
            let host = try Host(text)
            (rule, description) = (host == .name("localhost") ? .localhost : .host(host), "\(host)")
        }
    }

    func covers(_ host: Host) -> Bool {
        switch (rule, host) {
        case (.host(let one), _): one == host
        case (.below(let suffix), .name(let name)): name.hasSuffix(suffix)
        case (.network(let network), .address(let address)): network.contains(address)
        case (.localhost, .name(let name)): name == "localhost" || name.hasSuffix(".localhost")
        case (.localhost, .address(let address)): address.scope == .loopback
        case (.below, .address), (.network, .name): false
        }
    }
}

/// The addresses that begin with the same bits (RFC 4632, RFC 4291 §2.3).
struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    private let prefix: [UInt8]
    private let bits: Int
    let description: String

    /// Reads `ADDRESS/BITS`; nil where the address has bits behind these.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let bits = Int(parts[1]),
            bits <= address.octets.count * 8
        else { return nil }
        self.bits = bits
        prefix = address.octets
        description = "\(address)/\(bits)"
        guard Self.masked(prefix, bits) == prefix else { return nil }
    }

    func contains(_ address: IPAddress) -> Bool {
        address.octets.count == prefix.count && Self.masked(address.octets, bits) == prefix
    }

    private static func masked(_ octets: [UInt8], _ bits: Int) -> [UInt8] {
        octets.enumerated().map { index, octet in
            let kept = min(max(bits - index * 8, 0), 8)
            return octet & (kept == 0 ? 0 : 0xff << UInt8(8 - kept))
        }
    }
}
