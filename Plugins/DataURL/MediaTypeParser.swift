internal import SallyportCore

/// Reads `[ type "/" subtype ] *( ";" parameter ) [ ";base64" ]` (RFC 2397 §3; tokens and quoted strings of RFC 9110
/// §5.6).
struct MediaTypeParser {
    private let bytes: [UInt8]
    private var position = 0
    private var parameters = ""
    private var type: String?

    /// - Parameter bytes: the bytes before the comma, with escapes decoded.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var mediaType: String {
        if type == nil, parameters.isEmpty { return "text/plain;charset=US-ASCII" }
        return (type ?? "text/plain") + parameters
    }

    /// - Returns: whether the data is in base64.
    mutating func parse() throws(LoadError) -> Bool {
        if let first = bytes.first, first != UInt8(ascii: ";") { type = try parseType() }
        var count = 0
        while position < bytes.count {
            try expect(";", "A parameter begins with a semicolon.")
            let name = try token().lowercased()
            if position == bytes.count, name == "base64" { return true }
            try expect("=", "A parameter has a value.")
            parameters += ";\(name)=\(try value())"
            count += 1
            guard count <= DataURL.maximumParameters else {
                throw DataURL.malformed("A media type has at most \(DataURL.maximumParameters) parameters.")
            }
        }
        return false
    }

    private mutating func parseType() throws(LoadError) -> String {
        let type = try token()
        try expect("/", "A media type has a subtype.")
        return "\(type)/\(try token())".lowercased()
    }

    private mutating func expect(_ scalar: Unicode.Scalar, _ message: String) throws(LoadError) {
        guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else {
            throw DataURL.malformed(message)
        }
        position += 1
    }

    private mutating func token() throws(LoadError) -> String {
        let token = bytes[position...].prefix(while: Self.isTokenByte)
        guard !token.isEmpty else { throw DataURL.malformed("A token is empty, or holds what no token holds.") }
        position += token.count
        return String(decoding: token, as: UTF8.self)
    }

    private mutating func value() throws(LoadError) -> String {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return try token() }
        position += 1
        return Self.serialized(try quotedString())
    }

    /// The bytes before the closing quotation mark, which is consumed.
    private mutating func quotedString() throws(LoadError) -> [UInt8] {
        var content: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return content }
            if byte == UInt8(ascii: "\\") {
                guard position < bytes.count else { break }
                byte = bytes[position]
                position += 1
            }
            // Neither control characters, which could change the header block, nor characters outside ASCII.
            guard byte == 9 || (32..<127).contains(byte) else {
                throw DataURL.malformed("A quoted string holds printable ASCII.")
            }
            content.append(byte)
        }
        throw DataURL.malformed("A quoted string does not end.")
    }

    private static func serialized(_ value: [UInt8]) -> String {
        if !value.isEmpty, value.allSatisfy(isTokenByte) { return String(decoding: value, as: UTF8.self) }
        let escaped = value.flatMap { byte -> [UInt8] in
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }

    /// `tchar` (RFC 9110 §5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
