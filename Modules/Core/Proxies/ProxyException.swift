/// Hosts that are reached without a proxy.
public struct ProxyException: Sendable, Hashable, CustomStringConvertible {
    private enum Rule: Sendable, Hashable {
        case host(Host)
        /// Every name below it, including the dot.
        case below(String)
        case network(IPNetwork)
        case localhost
    }

    private let rule: Rule
    public let description: String

    /// Reads one of:
    /// - `name.example`: this name and no other;
    /// - `.example` or `*.example`: every name below it;
    /// - `192.0.2.1`, `2001:db8::1`: this address, if the URL contains an address;
    /// - `192.0.2.0/24`, `2001:db8::/32`: the addresses of a network (RFC 4632);
    /// - `localhost`: this name, the names below it, and the loopback addresses.
    ///
    /// Names are not looked up: an exception by address does not apply to names.
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
