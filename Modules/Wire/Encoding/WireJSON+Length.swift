extension WireJSON {
    /// The most bytes that ``encode(_:)`` makes of the ``JSONValue`` of a text, at the cost of one look at each byte:
    /// to read a text of 64 KiB takes a hundred times as long.
    ///
    /// White space is left out, and a string becomes no longer. A number may: one with an exponent, which may become
    /// one with all its digits, and one of more digits than an integer has, which gets an exponent.
    package static func longestEncoding(of text: [UInt8]) -> Int {
        var (length, digits) = (0, 0)
        var (isInString, isEscaped) = (false, false)
        for byte in text {
            if isInString {
                length += 1
                isInString = byte != UInt8(ascii: "\"") || isEscaped
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            guard !isSpace(byte) else { continue }
            isInString = byte == UInt8(ascii: "\"")
            // In `true` and `false`, no digit comes before the letter.
            let isExponent = digits > 0 && byte | 0x20 == UInt8(ascii: "e")
            digits = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? digits + 1 : 0
            length += 1 + (isExponent || digits == mostDigits ? longestNumber : 0)
        }
        return length
    }

    /// An integer with fewer digits is read as one.
    private static let mostDigits = 19
    /// Longer than any number that is written.
    private static let longestNumber = 25

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }
}
