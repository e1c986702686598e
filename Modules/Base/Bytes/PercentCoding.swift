/// Percent-encoding of RFC 3986 §2.1.
package enum PercentCoding {
    /// The decoded bytes; nil where a `%` is not followed by two hexadecimal digits.
    package static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(Hexadecimal.value(ofDigit:)),
                let low = rest.next().flatMap(Hexadecimal.value(ofDigit:))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The text with every byte outside `allowed` written as `%XX`.
    ///
    /// - Parameter keepsEscapes: whether a `%` that begins a valid escape stays. If not, ``decoded(_:)`` gives the text
    ///   back, unless `allowed` has `%`.
    package static func encoded(
        _ text: some StringProtocol, keepsEscapes: Bool = true, allowed: (UInt8) -> Bool
    ) -> String {
        if text.utf8.allSatisfy(allowed) { return String(text) }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            if allowed(byte) || (keepsEscapes && byte == UInt8(ascii: "%") && isEscape(bytes, at: index)) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), hexadecimal(byte >> 4), hexadecimal(byte & 15)]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether it is `unreserved` (RFC 3986 §2.3), and so never has to be encoded.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~".utf8.contains(byte)
        }
    }

    private static func isEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        index + 2 < bytes.count && Hexadecimal.value(ofDigit: bytes[index + 1]) != nil
            && Hexadecimal.value(ofDigit: bytes[index + 2]) != nil
    }

    private static func hexadecimal(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
}
