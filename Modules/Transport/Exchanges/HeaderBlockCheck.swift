/// Whether the lines of a header block are such that every reader reads them alike (RFC 9112 §5 and §6.3).
///
/// A line that one reader takes for a field and another for nothing, and two lengths for one body, are how an answer is
/// split in two: they end the exchange instead of being guessed at.
struct HeaderBlockCheck {
    private enum Line { case status, field, framing }

    private var last: Line?
    private var hasTrailer = false
    /// The status; 0 before its line.
    private(set) var status = 0
    /// Of HTTP/1: 0 or 1; nil for HTTP/2.
    private(set) var minorVersion: Int?
    private(set) var contentLength: Int64?
    private(set) var isChunked = false
    /// The server says that it closes the connection behind the response, or that it keeps it (RFC 9112 §9.6, §9.3).
    private(set) var saysClose = false
    private(set) var saysKeepAlive = false

    /// - Parameter line: with its line break. Not the blank one.
    /// - Returns: false for one that is refused.
    mutating func takes(_ line: UnsafeRawBufferPointer) -> Bool {
        let line = unsafe Self.content(line)
        guard let first = unsafe line.first, last != nil else { return unsafe takesStatus(line) }
        // A folded line (RFC 9112 §5.2) goes on with the value above it, which must not be one that is read here.
        if first == 32 || first == 9 { return unsafe last == .field && !Self.hasControl(line, from: 0) }
        return unsafe takesField(line)
    }

    /// `HTTP/1.1 200`, `HTTP/1.0 200 OK`, `HTTP/2 200`.
    private mutating func takesStatus(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count >= 10, unsafe line[..<5].elementsEqual("HTTP/".utf8), unsafe !Self.hasControl(line, from: 5)
        else { return false }
        let space: Int
        if unsafe line[5] == UInt8(ascii: "1") {
            guard line.count >= 12, unsafe line[6] == UInt8(ascii: "."), case let minor = unsafe line[7] &- 48,
                minor <= 1
            else { return false }
            minorVersion = Int(minor)
            space = 8
        } else {
            guard unsafe line[5] == UInt8(ascii: "2") else { return false }
            space = 6
        }
        guard unsafe line[space] == 32, case let end = space + 4, unsafe end == line.count || line[end] == 32,
            let status = unsafe Self.number(line[(space + 1)..<end]), status >= 100
        else { return false }
        (self.status, last) = (Int(status), .status)
        return true
    }

    /// - Parameter line: of a trailer section, whose fields frame nothing (RFC 9110 §6.5.1); with its line break.
    /// - Returns: false for one that is refused.
    mutating func takesTrailer(_ line: UnsafeRawBufferPointer) -> Bool {
        let line = unsafe Self.content(line)
        let isFolded = unsafe line.first == 32 || line.first == 9
        guard !isFolded else { return unsafe hasTrailer && !Self.hasControl(line, from: 0) }
        hasTrailer = true
        return unsafe Self.colon(of: line) != nil
    }

    /// Where the name of a field ends; nil for what is no field.
    private static func colon(of line: UnsafeRawBufferPointer) -> Int? {
        var colon = 0
        while unsafe colon < line.count && isTokenByte(line[colon]) { colon += 1 }
        guard colon > 0, colon < line.count, unsafe line[colon] == UInt8(ascii: ":"),
            unsafe !hasControl(line, from: colon)
        else { return nil }
        return colon
    }

    private mutating func takesField(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let colon = unsafe Self.colon(of: line) else { return false }
        last = .field
        switch colon {
        case 10: return unsafe takes(line, colon, named: "connection") { unsafe $0.takesConnection($1) }
        case 14: return unsafe takes(line, colon, named: "content-length") { unsafe $0.takesLength($1) }
        case 17: return unsafe takes(line, colon, named: "transfer-encoding") { unsafe $0.takesCoding($1) }
        default: return true
        }
    }

    private mutating func takes(
        _ line: UnsafeRawBufferPointer, _ colon: Int, named name: StaticString,
        _ take: (inout HeaderBlockCheck, Slice<UnsafeRawBufferPointer>) -> Bool
    ) -> Bool {
        let name = unsafe UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        for index in 0..<colon where unsafe line[index] | 0x20 != name[index] { return true }
        return unsafe take(&self, line[(colon + 1)...])
    }

    /// Never false: other options are none of ours.
    private mutating func takesConnection(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        unsafe Self.forEachElement(of: value) { option in
            if unsafe Self.isEqual(option, "close") { saysClose = true }
            if unsafe Self.isEqual(option, "keep-alive") { saysKeepAlive = true }
            return true
        }
    }

    /// The same length several times counts once (RFC 9110 §8.6).
    private mutating func takesLength(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        last = .framing
        let isTaken = unsafe Self.forEachElement(of: value) { element in
            guard let length = unsafe Self.number(element), contentLength ?? length == length else { return false }
            contentLength = length
            return true
        }
        guard isTaken else { return false }
        return !isChunked
    }

    /// No other coding was asked for, and none is allowed unasked (RFC 9112 §7).
    private mutating func takesCoding(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        last = .framing
        let isRefused = isChunked || contentLength != nil
        isChunked = true
        return unsafe !isRefused && Self.isEqual(Self.trimmed(value), "chunked")
    }

    // MARK: Bytes

    private static func content(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = line.count
        if unsafe end > 0 && line[end - 1] == 10 { end -= 1 }
        if unsafe end > 0 && line[end - 1] == 13 { end -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: line[..<end])
    }

    /// Whether there is NUL or CR, which readers take for different things.
    private static func hasControl(_ line: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var index = start
        while index < line.count {
            let byte = unsafe line[index]
            if byte == 0 || byte == 13 { return true }
            index += 1
        }
        return false
    }

    /// - Returns: whether `take` returned true for each element of a list. An empty value has one, which is empty.
    private static func forEachElement(
        of value: Slice<UnsafeRawBufferPointer>, _ take: (Slice<UnsafeRawBufferPointer>) -> Bool
    ) -> Bool {
        var rest = unsafe value
        while let end = unsafe rest.firstIndex(of: UInt8(ascii: ",")) {
            guard unsafe take(trimmed(rest[..<end])) else { return false }
            unsafe rest = rest[(end + 1)...]
        }
        return unsafe take(trimmed(rest))
    }

    private static func trimmed(_ value: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var value = unsafe value
        while let first = unsafe value.first, first == 32 || first == 9 { unsafe value.removeFirst() }
        while let last = unsafe value.last, last == 32 || last == 9 { unsafe value.removeLast() }
        return unsafe value
    }

    /// - Parameter text: in lower case, of letters and hyphens.
    private static func isEqual(_ value: Slice<UnsafeRawBufferPointer>, _ text: StaticString) -> Bool {
        unsafe value.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) {
            $0 | 0x20 == $1
        }
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
        guard unsafe !digits.isEmpty && digits.count <= 19 else { return nil }
        var number: Int64 = 0
        for index in unsafe digits.indices {
            let digit = unsafe digits[index]
            guard (48...57).contains(digit) else { return nil }
            let (product, isLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLonger) = product.addingReportingOverflow(Int64(digit - 48))
            guard !isLong && !isLonger else { return nil }
            number = sum
        }
        return number
    }

    /// `tchar` (RFC 9110 §5.6.2), as the bits of the bytes below 64, and of those from 64 to 127: letters, digits, and the
    /// signs that `HeaderBlockCheckTests` lists. Literals, since a table that is made at its first use is asked for at each
    /// byte.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        let bits: UInt64 = byte < 64 ? 0x03ff_6cfa_0000_0000 : 0x57ff_ffff_c7ff_fffe
        return byte < 128 && bits &>> UInt64(byte & 63) & 1 == 1
    }
}
