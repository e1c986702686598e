/// Percent-encoding of RFC 3986 §2.1.
package enum PercentCoding {
    /// The decoded bytes; nil where a `%` is not followed by two hexadecimal digits.
    package static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        var octets: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                octets.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
            octets.append(high << 4 | low)
        }
        return octets
    }

    /// The text with every byte outside `allowed` written as `%XX`; a `%` that begins a valid escape stays.
    package static func encoded(_ text: some StringProtocol, allowed: (UInt8) -> Bool) -> String {
        if text.utf8.allSatisfy(allowed) { return String(text) }
        let octets = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        for (index, byte) in octets.enumerated() {
            if allowed(byte) || (byte == UInt8(ascii: "%") && isEscape(octets, at: index)) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), hexadecimal(byte >> 4), hexadecimal(byte & 15)]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isEscape(_ octets: [UInt8], at index: Int) -> Bool {
        index + 2 < octets.count && digit(octets[index + 1]) != nil && digit(octets[index + 2]) != nil
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 55
        default: nil
        }
    }

    private static func hexadecimal(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
}
