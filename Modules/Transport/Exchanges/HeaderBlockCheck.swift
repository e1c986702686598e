/// Whether the lines of a header block are such that every reader reads them alike (RFC 9112 §5 and §6.3).
///
/// A line that one reader takes for a field and another for nothing, and two lengths for one body, are how an answer is
/// split in two: they end the exchange instead of being guessed at.
struct HeaderBlockCheck {
    private enum Line { case status, field, framing }

    private var last: Line?
    private var contentLength: Int64?
    private var isChunked = false

    /// - Parameter line: with its line break. Not the blank one.
    /// - Returns: false for one that is refused.
    mutating func takes(_ line: ArraySlice<UInt8>) -> Bool {
        let octets = Self.content(line)
        guard let first = octets.first, !octets.contains(where: { $0 == 0 || $0 == 13 }) else {
            return false
        }
        guard let last else {
            self.last = .status
            return true
        }
        // A folded line (RFC 9112 §5.2) goes on with the value above it, which must not be one that libcurl has read.
        if first == 32 || first == 9 { return last == .field }
        return takesField(octets)
    }

    private mutating func takesField(_ octets: ArraySlice<UInt8>) -> Bool {
        guard let colon = octets.firstIndex(of: UInt8(ascii: ":")), colon > octets.startIndex,
            octets[..<colon].allSatisfy(Self.isTokenOctet)
        else { return false }
        last = .field
        switch colon - octets.startIndex {
        case 14: return takes(octets, colon, named: "content-length") { $0.takesLength($1) }
        case 17: return takes(octets, colon, named: "transfer-encoding") { $0.takesCoding($1) }
        default: return true
        }
    }

    private mutating func takes(
        _ octets: ArraySlice<UInt8>, _ colon: Int, named name: String,
        _ take: (inout HeaderBlockCheck, ArraySlice<UInt8>) -> Bool
    ) -> Bool {
        guard octets[..<colon].elementsEqual(name.utf8, by: { $0 | 0x20 == $1 }) else { return true }
        last = .framing
        return take(&self, octets[(colon + 1)...])
    }

    /// The same length several times counts once (RFC 9110 §8.6).
    private mutating func takesLength(_ value: ArraySlice<UInt8>) -> Bool {
        var rest = value
        while true {
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            guard let length = Self.number(Self.trimmed(rest[..<end])), contentLength ?? length == length else {
                return false
            }
            contentLength = length
            guard end < rest.endIndex else { return !isChunked }
            rest = rest[(end + 1)...]
        }
    }

    /// No other coding was asked for, and none is allowed unasked (RFC 9112 §7).
    private mutating func takesCoding(_ value: ArraySlice<UInt8>) -> Bool {
        let isRefused = isChunked || contentLength != nil
        isChunked = true
        return !isRefused && Self.trimmed(value).elementsEqual("chunked".utf8) { $0 | 0x20 == $1 }
    }

    // MARK: Octets

    private static func content(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var end = line.endIndex
        if end > 0, line[end - 1] == 10 { end -= 1 }
        if end > 0, line[end - 1] == 13 { end -= 1 }
        return line[..<end]
    }

    private static func trimmed(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var octets = octets
        while let first = octets.first, first == 32 || first == 9 { octets = octets.dropFirst() }
        while let last = octets.last, last == 32 || last == 9 { octets = octets.dropLast() }
        return octets
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> Int64? {
        guard !octets.isEmpty && octets.count <= 19 else { return nil }
        var number: Int64 = 0
        for octet in octets {
            guard (48...57).contains(octet) else { return nil }
            let (product, isLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLonger) = product.addingReportingOverflow(Int64(octet - 48))
            guard !isLong && !isLonger else { return nil }
            number = sum
        }
        return number
    }

    /// `tchar` (RFC 9110 §5.6.2), and the colon's place is known.
    private static func isTokenOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
        }
    }
}
