internal import Glibc
internal import SallyportBase

/// The five components of a URI reference (RFC 3986 §3, appendix B), percent-encoded where they were not.
///
/// Most requests bring their URL as text, so it is read as it lies: the places of the components are found among its
/// bytes, and only the components become strings.
struct URLParts {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    var fragment: String?

    init(_ text: String) throws(AddressError) {
        let bytes = text.utf8.span
        var rest = try Self.content(of: bytes)
        if let mark = bytes.firstIndex(of: UInt8(ascii: "#"), in: rest) {
            fragment = Self.encoded(text, mark + 1..<rest.upperBound, allowed: Self.isQueryByte)
            rest = rest.lowerBound..<mark
        }
        if let mark = bytes.firstIndex(of: UInt8(ascii: "?"), in: rest) {
            query = Self.encoded(text, mark + 1..<rest.upperBound, allowed: Self.isQueryByte)
            rest = rest.lowerBound..<mark
        }
        if let colon = Self.endOfScheme(bytes, rest) {
            scheme = String(text.part(rest.lowerBound..<colon))
            rest = colon + 1..<rest.upperBound
        }
        if bytes.hasSlashes(rest) {
            let start = rest.lowerBound + 2
            let end = bytes.firstIndex(of: UInt8(ascii: "/"), in: start..<rest.upperBound) ?? rest.upperBound
            authority = String(text.part(start..<end))
            rest = end..<rest.upperBound
        }
        path = Self.encoded(text, rest, allowed: Self.isPathByte)
    }

    /// Where the reference lies between what is around it: white space and control characters.
    private static func content(of bytes: Span<UInt8>) throws(AddressError) -> Range<Int> {
        var (start, end) = (0, bytes.count)
        while start < end, bytes[start] <= 0x20 { start += 1 }
        while start < end, bytes[end - 1] <= 0x20 { end -= 1 }
        guard start < end || bytes.isEmpty else { throw AddressError(.invalidURL, "The URL is empty.") }
        guard end - start <= RequestURL.maximumLength else {
            throw AddressError(.invalidURL, "A URL has at most \(RequestURL.maximumLength) bytes.")
        }
        for index in start..<end where bytes[index] <= 0x20 || bytes[index] == 0x7f {
            throw AddressError(.invalidURL, "A URL holds no white space and no control characters.")
        }
        return start..<end
    }

    private static func endOfScheme(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":"), in: range), colon > range.lowerBound,
            isLetter(bytes[range.lowerBound])
        else { return nil }
        for index in range.lowerBound..<colon where !isSchemeByte(bytes[index]) { return nil }
        return colon
    }

    /// The bytes of a range, with those that are not allowed written as `%XX`.
    private static func encoded(_ text: String, _ range: Range<Int>, allowed: (UInt8) -> Bool) -> String {
        let (part, bytes) = (text.part(range), text.utf8.span)
        for index in range where !allowed(bytes[index]) { return PercentCoding.encoded(part, allowed: allowed) }
        return String(part)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: isLetter(byte)
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }

    /// `pchar` and `/` (RFC 3986 §3.3).
    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "@")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "&")...UInt8(ascii: ";"): true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// `pchar`, `/` and `?` (RFC 3986 §3.4).
    private static func isQueryByte(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "?") || isPathByte(byte) }

    /// Removes `.` and `..` segments (RFC 3986 §5.2.4).
    static func withoutDots(_ path: String) -> String {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return path }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch dots(segment) {
            case 1: if isLast { kept.append("") }
            case 2:
                if kept.count > 1 { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return kept.joined(separator: "/")
    }

    /// 1 for `.`, 2 for `..`, in any spelling (`%2e` is a dot); nil for any other segment.
    private static func dots(_ segment: Substring) -> Int? {
        guard (1...6).contains(segment.utf8.count) else { return nil }
        var rest = segment.utf8[...]
        var count = 0
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if Substring(rest.prefix(3)).lowercased() == "%2e" {
                rest = rest.dropFirst(3)
            } else {
                return nil
            }
            count += 1
        }
        return count
    }
}

extension Span<UInt8> {
    fileprivate func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        // SAFETY: `memchr` reads the bytes of the part and no others, and keeps none.
        unsafe extracting(range).withUnsafeBytes { part in
            guard let start = part.baseAddress, let found = unsafe memchr(start, Int32(byte), part.count) else {
                return nil
            }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - start)
        }
    }

    /// By bytes: a slash followed by a combining mark is another `Character`.
    fileprivate func hasSlashes(_ range: Range<Int>) -> Bool {
        range.count >= 2 && self[range.lowerBound] == UInt8(ascii: "/")
            && self[range.lowerBound + 1] == UInt8(ascii: "/")
    }
}

extension String {
    /// - Parameter range: of bytes; it begins and ends where a character does.
    fileprivate func part(_ range: Range<Int>) -> Substring {
        let start = utf8.index(startIndex, offsetBy: range.lowerBound)
        return self[start..<utf8.index(start, offsetBy: range.count)]
    }
}
