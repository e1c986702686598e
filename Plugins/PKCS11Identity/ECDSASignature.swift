/// The two forms of an ECDSA signature.
enum ECDSASignature {
    /// Converts two integers of equal length, as PKCS#11 returns them, to DER (RFC 3279 §2.2.3).
    static func der(_ signature: [UInt8]) -> [UInt8] {
        let half = signature.count / 2
        let content = integer(signature[..<half]) + integer(signature[half...])
        return [0x30] + length(content.count) + content
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var value = Array(bytes.drop { $0 == 0 })
        if value.first.map({ $0 & 0x80 != 0 }) ?? true { value.insert(0, at: 0) }
        return [0x02] + length(value.count) + value
    }

    /// At most 255 bytes: the largest curve's signature has 139.
    private static func length(_ count: Int) -> [UInt8] {
        count < 0x80 ? [UInt8(count)] : [0x81, UInt8(truncatingIfNeeded: count)]
    }
}
