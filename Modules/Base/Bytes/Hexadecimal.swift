/// Bytes as hexadecimal digits, two for each, in lower case.
@usableFromInline package enum Hexadecimal {
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: digits(of: Array(bytes)), as: UTF8.self)
    }

    /// The digits in ASCII.
    ///
    /// Takes an array, whose bytes are read directly: a generic `Sequence` from another module costs a call for each
    /// byte.
    package static func digits(of bytes: [UInt8]) -> [UInt8] {
        var digits = [UInt8](repeating: 0, count: 2 * bytes.count)
        for (position, byte) in bytes.enumerated() {
            digits[2 * position] = digit(byte >> 4)
            digits[2 * position + 1] = digit(byte & 15)
        }
        return digits
    }

    /// Of a digit in ASCII, in either case; nil for any other byte.
    @inlinable package static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    @inlinable package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
