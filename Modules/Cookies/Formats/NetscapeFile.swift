internal import FoundationEssentials

/// The Netscape cookie file: domain, whether hosts below receive the cookie, path, whether secure, seconds since 1970
/// (0 for a session cookie), name, value. A line that begins with `#HttpOnly_` is a cookie, any other line with `#` a
/// comment. No field can hold a tab, which a cookie may contain (RFC 6265bis §5.6).
enum NetscapeFile {
    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let httpOnly = Array("#HttpOnly_".utf8)

    static func cookies(in file: [UInt8]) throws(CookieError) -> [Cookie] {
        var cookies: [Cookie] = []
        for (index, line) in file.split(separator: newline, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            let isHTTPOnly = line.starts(with: httpOnly)
            guard !line.isEmpty, isHTTPOnly || line.first != UInt8(ascii: "#") else { continue }
            do throws(CookieError) {
                cookies.append(try cookie(isHTTPOnly ? line.dropFirst(httpOnly.count) : line, isHTTPOnly))
            } catch {
                throw CookieError(
                    .invalidFile, "Line \(index + 1) is no cookie: \(error.message)", underlying: error.underlying)
            }
        }
        return cookies
    }

    private static func cookie(_ line: ArraySlice<UInt8>, _ isHTTPOnly: Bool) throws(CookieError) -> Cookie {
        // Some programs omit an empty value together with its tab.
        let fields = line.split(separator: tab, omittingEmptySubsequences: false)
        guard (6...7).contains(fields.count) else { throw invalid("It has not seven fields.") }
        guard let seconds = Int64(text(fields[4])) else { throw invalid("Its time is no number.") }
        let domain = text(fields[0].first == UInt8(ascii: ".") ? fields[0].dropFirst() : fields[0])
        return try Cookie(
            name: Array(fields[5]), value: fields.count == 7 ? Array(fields[6]) : [], domain: domain,
            includesSubdomains: try flag(fields[1]), path: Array(fields[2]),
            expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)), isSecure: try flag(fields[3]),
            isHTTPOnly: isHTTPOnly, sameSite: .default)
    }

    private static func flag(_ field: ArraySlice<UInt8>) throws(CookieError) -> Bool {
        if ASCII.isEqual(field, ignoringCase: "true") { return true }
        guard ASCII.isEqual(field, ignoringCase: "false") else { throw invalid("A flag is neither TRUE nor FALSE.") }
        return false
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String { String(decoding: field, as: UTF8.self) }

    private static func invalid(_ message: String) -> CookieError { CookieError(.invalidFile, message) }

    static func canHold(_ cookie: Cookie) -> Bool {
        !(cookie.entry.name.contains(tab) || cookie.entry.value.contains(tab) || cookie.entry.path.contains(tab))
    }

    /// Cookies that the format cannot hold are left out, since one would make the whole file invalid; a comment counts
    /// them.
    static func file(of cookies: [Cookie]) -> [UInt8] {
        var file = Array("# Netscape HTTP Cookie File\n".utf8)
        let held = cookies.filter(canHold)
        if held.count < cookies.count {
            file += Array("# Cookies with a tab, which are left out here: \(cookies.count - held.count)\n".utf8)
        }
        for cookie in held {
            if cookie.isHTTPOnly { file += httpOnly }
            let seconds = cookie.expires.map { max(1, Int64($0.timeIntervalSince1970.rounded(.down))) } ?? 0
            let fields: [[UInt8]] = [
                Array(((cookie.includesSubdomains ? "." : "") + cookie.domain).utf8),
                Array((cookie.includesSubdomains ? "TRUE" : "FALSE").utf8), cookie.entry.path,
                Array((cookie.isSecure ? "TRUE" : "FALSE").utf8), Array("\(seconds)".utf8), Array(cookie.entry.name),
                Array(cookie.entry.value),
            ]
            file += fields.joined(separator: [tab]) + [newline]
        }
        return file
    }
}
