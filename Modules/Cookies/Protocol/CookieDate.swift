internal import SallyportBase
internal import SallyportLoading

/// Reads the date of an `Expires` attribute (RFC 6265bis §5.1.1) by its tokens, ignoring the delimiters between them.
enum CookieDate {
    /// Milliseconds since 1970; nil if the text is not a date.
    static func parse(_ text: some Collection<UInt8>) -> Int64? {
        var fields = Fields()
        for token in text.split(whereSeparator: isDelimiter) { fields.take(Array(token)) }
        return fields.milliseconds
    }

    /// `delimiter`: everything except letters, digits, the colon and bytes above 0x7e.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    private struct Fields {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        /// The first matching token determines a field; each token determines one field at most.
        mutating func take(_ token: [UInt8]) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found
            }
        }

        var milliseconds: Int64? {
            guard let time, let day, let month, var year else { return nil }
            if (70...99).contains(year) { year += 1900 }
            if (0...69).contains(year) { year += 2000 }
            guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
                (1...CivilDate.days(in: month, of: year)).contains(day)
            else { return nil }
            let days = CivilDate.daysSince1970(year, month, day)
            return (days * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)) * 1000
        }

        /// Digits, followed by nothing or by a non-digit and anything.
        private static func number(_ token: [UInt8], digits: ClosedRange<Int>) -> Int? {
            let leading = token.prefix { isDigit($0) }
            guard digits.contains(leading.count) else { return nil }
            return leading.reduce(0) { $0 * 10 + Int($1 - 48) }
        }

        private static func time(_ token: [UInt8]) -> (Int, Int, Int)? {
            let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
                let hour = number(Array(parts[0]), digits: 1...2),
                let minute = number(Array(parts[1]), digits: 1...2),
                let second = number(Array(parts[2]), digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        private static let months = CivilDate.months.map { Array($0.lowercased().utf8) }

        /// By its first three letters.
        private static func month(_ token: [UInt8]) -> Int? {
            let name = token.prefix(3).map(ASCII.lowercased)
            return months.firstIndex(of: name).map { $0 + 1 }
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
    }
}

/// Helpers that the parsers share.
enum ASCII {
    static func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }

    static func isEqual(_ bytes: some Collection<UInt8>, ignoringCase text: StaticString) -> Bool {
        bytes.count == text.utf8CodeUnitCount && has(bytes, prefix: text)
    }

    /// Whether the bytes begin with the text, ignoring case; the text must be in lower case (RFC 6265bis §5.4).
    static func has(_ bytes: some Collection<UInt8>, prefix text: StaticString) -> Bool {
        guard bytes.count >= text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            unsafe zip(bytes, text).allSatisfy { lowercased($0) == $1 }
        }
    }

    /// Removes leading and trailing WSP: space and tab.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }),
            let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return bytes[first...last]
    }

    /// Controls other than the tab, which end a cookie (RFC 6265bis §5.6).
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7f }
}
