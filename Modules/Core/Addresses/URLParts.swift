internal import SallyportBase

/// The five components of a URI reference (RFC 3986 §3, appendix B), percent-encoded where they were not.
struct URLParts {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    var fragment: String?

    init(_ text: String) throws(AddressError) {
        let trimmed = text.trimming { $0 <= 0x20 }
        guard !trimmed.isEmpty || text.isEmpty, trimmed.utf8.count <= RequestURL.maximumLength else {
            throw AddressError(.invalidURL, "A URL has at most \(RequestURL.maximumLength) bytes.")
        }
        guard trimmed.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw AddressError(.invalidURL, "A URL holds no white space and no control characters.")
        }
        var rest = trimmed
        fragment = Self.cut(&rest, at: "#").map { PercentCoding.encoded($0, allowed: Self.isQueryByte) }
        query = Self.cut(&rest, at: "?").map { PercentCoding.encoded($0, allowed: Self.isQueryByte) }
        scheme = Self.cutScheme(&rest)
        // By bytes: a slash followed by a combining mark is another `Character`.
        if rest.utf8.starts(with: "//".utf8) {
            let start = rest.utf8.index(rest.startIndex, offsetBy: 2)
            let end = rest.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = String(rest[start..<end])
            rest = rest[end...]
        }
        path = PercentCoding.encoded(rest, allowed: Self.isPathByte)
    }

    /// Removes the first `separator` and everything after it from `rest`, and returns what followed the separator.
    private static func cut(_ rest: inout Substring, at separator: Character) -> Substring? {
        guard let index = rest.utf8.firstIndex(of: separator.asciiValue ?? 0) else { return nil }
        defer { rest = rest[..<index] }
        return rest[rest.utf8.index(after: index)...]
    }

    private static func cutScheme(_ rest: inout Substring) -> String? {
        guard let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = rest[..<colon]
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) || "+-.".utf8.contains($0) })
        else { return nil }
        rest = rest[rest.utf8.index(after: colon)...]
        return String(scheme)
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
