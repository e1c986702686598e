internal import FoundationEssentials

/// Base64 with the URL-safe alphabet and without padding (RFC 4648 §5), as JOSE uses it (RFC 7515 §2).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each byte of the alphabet, 255 for any other byte.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits = 0
        var buffer: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Strict: no padding, no white space, no unused bits, so that every value has one spelling.
    package static func decode(_ text: some Collection<UInt8>) throws(WireError) -> [UInt8] {
        guard text.count % 4 != 1 else { throw WireError(.malformed, "Not the length of base64url.") }
        // Each request decodes tokens: the table is looked up once, and one check at the end detects bytes outside the
        // alphabet.
        let values = values
        var bytes = [UInt8](repeating: 0, count: text.count * 3 / 4)
        var (count, bits, buffer, seen) = (0, 0, UInt32(0), UInt8(0))
        for character in text {
            let value = values[Int(character)]
            seen |= value
            buffer = buffer << 6 | UInt32(value & 63)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes[count] = UInt8(truncatingIfNeeded: buffer >> UInt32(bits))
            count += 1
        }
        guard seen < 64 else { throw WireError(.malformed, "Not the alphabet of base64url.") }
        guard buffer & (1 << UInt32(bits) - 1) == 0 else {
            throw WireError(.malformed, "The last character of base64url has bits left over.")
        }
        return bytes
    }

    package static func decode(_ text: String) throws(WireError) -> [UInt8] { try decode(text.utf8) }
}

/// Base64 with padding (RFC 4648 §4), as `x5c` and EST bodies use it.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// - Parameter ignoringWhiteSpace: whether line breaks, spaces and tabs are skipped, as EST allows (RFC 7030 §4).
    package static func decode(
        _ text: some Collection<UInt8>, ignoringWhiteSpace: Bool = false
    ) throws(WireError) -> [UInt8] {
        let text = ignoringWhiteSpace ? text.filter { ![9, 10, 13, 32].contains($0) } : Array(text)
        guard let data = Data(base64Encoded: Data(text)) else { throw WireError(.malformed, "Not base64.") }
        return Array(data)
    }
}
