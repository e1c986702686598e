internal import SallyportCore
internal import SallyportWire

/// A CONNECT request (RFC 9110 §9.3.6), read from its head.
struct ConnectRequest: Hashable {
    let target: Endpoint

    /// - Parameter head: Lines that end in CRLF, the last one empty.
    init(head: [UInt8]) throws(RelayRefusal) {
        let text = String(decoding: head, as: UTF8.self)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let parts = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, Self.isToken(parts[0]) else { throw .malformed("Not a request line of HTTP/1.1.") }
        guard parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0" else {
            let isOther = parts[2].hasPrefix("HTTP/")
            throw .malformed("The relay speaks HTTP/1.1.", status: isOther ? 505 : 400)
        }
        guard parts[0] == "CONNECT" else { throw .malformed("The relay knows CONNECT alone.", status: 405) }
        let names = try Self.fieldNames(lines)
        let hosts = names.count { $0 == "host" }
        guard hosts == 1 || (hosts == 0 && parts[2] == "HTTP/1.0") else {
            throw .malformed("A request has one Host field.")
        }
        // What stood behind the head would be content for one reader and the tunnel's bytes for another.
        guard !names.contains("transfer-encoding"), !names.contains("content-length") else {
            throw .malformed("CONNECT has no content.")
        }
        target = try Self.target(parts[1])
    }

    private static func target(_ authority: Substring) throws(RelayRefusal) -> Endpoint {
        let host = authority.utf8.prefix { $0 != UInt8(ascii: "]") }
        // A bare IPv6 address does not say where its port begins.
        guard authority.utf8.first == UInt8(ascii: "[") || host.count(where: { $0 == UInt8(ascii: ":") }) == 1 else {
            throw .malformed("The target of CONNECT is HOST:PORT.")
        }
        do { return try Endpoint(String(authority)) } catch {
            throw .malformed("The target of CONNECT is not HOST:PORT.")
        }
    }

    /// The names in lower case (RFC 9112 §5: no space before the colon, no folded lines).
    private static func fieldNames(_ lines: ArraySlice<Substring>) throws(RelayRefusal) -> [String] {
        var names: [String] = []
        for line in lines.prefix(while: { !$0.isEmpty }) {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]),
                line[colon...].utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 })
            else { throw .malformed("A header field is malformed.") }
            names.append(line[..<colon].lowercased())
        }
        return names
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { octet in
                switch octet {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
                }
            }
    }
}
