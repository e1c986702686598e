internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// A CONNECT request (RFC 9110 §9.3.6), read from its head.
struct ConnectRequest: Hashable {
    let target: Endpoint

    /// - Parameter head: Lines that end in CRLF, the last one empty.
    init(head: [UInt8]) throws(RelayRefusal) {
        var lines = try Self.lines(of: head)[...]
        let parts = (lines.popFirst() ?? []).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, HTTPToken.isToken(parts[0]) else { throw .malformed("Not a request line of HTTP/1.1.") }
        let isOlder = parts[2].elementsEqual("HTTP/1.0".utf8)
        guard isOlder || parts[2].elementsEqual("HTTP/1.1".utf8) else {
            let isOther = parts[2].starts(with: "HTTP/".utf8)
            throw .malformed("The relay speaks HTTP/1.1.", status: isOther ? 505 : 400)
        }
        guard parts[0].elementsEqual("CONNECT".utf8) else {
            throw .malformed("The relay knows CONNECT alone.", status: 405)
        }
        let names = try Self.fieldNames(lines)
        let hosts = names.count { Self.isNamed($0, "host") }
        guard hosts == 1 || (hosts == 0 && isOlder) else { throw .malformed("A request has one Host field.") }
        // Bytes after the head might be read as content or as the tunnel's bytes.
        guard !names.contains(where: { Self.isNamed($0, "transfer-encoding") || Self.isNamed($0, "content-length") })
        else { throw .malformed("CONNECT has no content.") }
        target = try Self.target(parts[1])
    }

    /// Without their CRLF.
    private static func lines(of head: [UInt8]) throws(RelayRefusal) -> [ArraySlice<UInt8>] {
        let lines = head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.dropLast().allSatisfy({ $0.last == UInt8(ascii: "\r") }) else {
            throw .malformed("A line of the request's head does not end in CRLF.")
        }
        return lines.dropLast().map { $0.dropLast() }
    }

    private static func target(_ authority: ArraySlice<UInt8>) throws(RelayRefusal) -> Endpoint {
        let host = authority.prefix { $0 != UInt8(ascii: "]") }
        // In a bare IPv6 address, the beginning of the port is ambiguous.
        guard authority.first == UInt8(ascii: "[") || host.count(where: { $0 == UInt8(ascii: ":") }) == 1 else {
            throw .malformed("The target of CONNECT is HOST:PORT.")
        }
        do { return try Endpoint(String(decoding: authority, as: UTF8.self)) } catch {
            throw .malformed("The target of CONNECT is not HOST:PORT.")
        }
    }

    /// RFC 9112 §5: no space before the colon, no folded lines.
    private static func fieldNames(
        _ lines: ArraySlice<ArraySlice<UInt8>>
    ) throws(RelayRefusal) -> [ArraySlice<UInt8>] {
        var names: [ArraySlice<UInt8>] = []
        for line in lines.prefix(while: { !$0.isEmpty }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPToken.isToken(line[..<colon]),
                line[colon...].allSatisfy({ ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 })
            else { throw .malformed("A header field is malformed.") }
            names.append(line[..<colon])
        }
        return names
    }

    /// - Parameter name: in lower case.
    private static func isNamed(_ field: ArraySlice<UInt8>, _ name: String) -> Bool {
        let wanted = name.utf8
        guard field.count == wanted.count else { return false }
        return zip(field, wanted).allSatisfy { byte, letter in
            (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte) == letter
        }
    }
}
