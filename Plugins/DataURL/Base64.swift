/// Base64 (RFC 4648 §4) with the exceptions of ``DataURL``.
enum Base64 {
    /// Nil if the text is not base64.
    static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var digits = text.filter { !isWhiteSpace($0) }[...]
        if digits.count.isMultiple(of: 4) {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits = digits.dropLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var bits = 0
        var count = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            bits = (bits << 6 | Int(value)) & 0xfff
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bits & ((1 << count) - 1) == 0 ? bytes : nil
    }

    /// ASCII white space, as in the forgiving decoding of the WHATWG's Infra Standard.
    private static func isWhiteSpace(_ byte: UInt8) -> Bool { [9, 10, 12, 13, 32].contains(byte) }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
