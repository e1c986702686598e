/// Tokens of HTTP (RFC 9110 §5.6.2): methods, names of fields, names of schemes and parameters.
package enum HTTPToken {
    /// Whether the bytes are one token, which has at least one byte.
    package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(mayContain)
    }

    package static func mayContain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
