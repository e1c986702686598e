internal import FoundationEssentials

/// RFC 4648 §4, with padding.
enum Base64 {
    static func encode(_ octets: [UInt8]) -> String { Data(octets).base64EncodedString() }
}
