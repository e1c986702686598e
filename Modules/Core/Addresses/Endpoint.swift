/// A host and a port: what is routed, connected to, and compared.
///
/// Two spellings of one place make equal endpoints; see ``Host``.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address, in the one spelling of ``Host``.
    public let host: Host
    /// 1 to 65535.
    public let port: UInt16

    /// - Throws: ``AddressError`` with the code `invalidPort` for port 0.
    public init(host: Host, port: UInt16) throws(AddressError) {
        guard port > 0 else { throw AddressError(.invalidPort, "A port is a number from 1 to 65535.") }
        self.host = host
        self.port = port
    }

    /// Reads `HOST:PORT`, with IPv6 in brackets; only `HOST` if a default port is given.
    public init(_ text: String, defaultPort: UInt16? = nil) throws(AddressError) {
        let split = Authority.split(text)
        guard let port = try split.port.map(Authority.port) ?? defaultPort else {
            throw AddressError(.invalidPort, "HOST:PORT is expected, and the port is missing.")
        }
        self = try Endpoint(host: Authority.host(split.host), port: port)
    }

    public var description: String { "\(host):\(port)" }
}

/// The parts of an authority (RFC 3986 §3.2).
package enum Authority {
    /// Splits at the last colon outside brackets.
    package static func split(_ text: String) -> (host: String, port: String?) {
        let bytes = text.utf8.span
        var colon = bytes.count - 1
        while colon >= 0, bytes[colon] != UInt8(ascii: ":") {
            if bytes[colon] == UInt8(ascii: "]") { return (text, nil) }
            colon -= 1
        }
        guard colon >= 0 else { return (text, nil) }
        let place = text.utf8.index(text.startIndex, offsetBy: colon)
        return (String(text[..<place]), String(text[text.utf8.index(after: place)...]))
    }

    /// The host before a port. In a text such as `2001:db8::1:80`, nothing says whether the last group is the port.
    ///
    /// - Throws: `invalidHost` also for an IPv6 address without brackets (RFC 3986 §3.2.2).
    package static func host(_ text: String) throws(AddressError) -> Host {
        guard text.utf8.first == UInt8(ascii: "[") || !text.utf8.contains(UInt8(ascii: ":")) else {
            throw AddressError(
                .invalidHost, "A host has no colon; an IPv6 address is written in brackets, as in [2001:db8::1]:443.")
        }
        return try Host(text)
    }

    package static func port(_ text: String) throws(AddressError) -> UInt16 {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(text), port > 0
        else { throw AddressError(.invalidPort, "A port is a number from 1 to 65535.") }
        return port
    }
}
