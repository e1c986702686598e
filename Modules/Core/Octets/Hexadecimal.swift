/// Octets as hexadecimal digits, two for each, in lower case.
package enum Hexadecimal {
    @inlinable package static func text(_ octets: some Sequence<UInt8>) -> String {
        String(decoding: digits(of: octets), as: UTF8.self)
    }

    /// In ASCII.
    @inlinable package static func digits(of octets: some Sequence<UInt8>) -> [UInt8] {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * octets.underestimatedCount)
        for octet in octets {
            digits.append(digit(octet >> 4))
            digits.append(digit(octet & 15))
        }
        return digits
    }

    @inlinable package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
