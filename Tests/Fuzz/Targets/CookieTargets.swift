import SallyportCore
import SallyportLoading

@testable import SallyportCookies

extension FuzzTarget {
    static let cookies = [setCookie, cookieDate, netscapeCookies, jsonCookies, cookieRecord]

    /// Lines of fields, all of one server: the jar stays within its limits, and sends nothing that no server sent.
    private static let setCookie = FuzzTarget(
        "set-cookie",
        words: [
            "=", ";", "; ", "Path=", "/", "Domain=", ".example.com", "Secure", "HttpOnly", "SameSite=None", "Max-Age=",
            "-1", "99999999999999999999", "Expires=", "Wed, 09 Jun 2021 10:18:14 GMT", "__Host-", "__secure-", "\n",
            "\t", "\0", "\u{ff}",
        ]
    ) { bytes throws(BrokenProperty) in
        guard let url = try? RequestURL("https://www.example.com/a/b"), let request = CookieRequest(url) else { return }
        var table = CookieTable()
        table.limits.perDomain = 4
        var effects: [CookieTable.Effect] = []
        for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
            guard let field = try? SetCookie(Array(line)),
                let cookie = try? CookieRules().cookie(from: field, for: request, at: 1000)
            else { continue }
            try demand(
                cookie.host.description.hasSuffix("example.com"), "A cookie is for a domain that the host is not below."
            )
            try demand(cookie.pair.count <= SetCookie.maximumLength + 1, "A cookie is longer than its limit.")
            try demand(
                cookie.expiry == CookieEntry.session || cookie.expiry <= 1000 + CookieRules.longestLife,
                "A cookie lives longer than its limit.")
            let record = CookieRecord(cookie, of: .instance)
            try demand(
                CookieRecord(record.bytes, number: 0)?.bytes == record.bytes, "A cookie is stored as another.")
            try? table.set(cookie, of: .instance, isSecure: true, at: 1000, &effects)
        }
        try demand(table.count <= 8, "There are more cookies than is allowed.")
        guard let sent = table.field(for: request, of: .instance, now: { 1000 }, &effects) else { return }
        try demand(!sent.contains(where: ASCII.isControl), "A control character is sent.")
    }

    private static let cookieDate = FuzzTarget(
        "cookie-date", words: ["Wed", "09", "Jun", "2021", "10:18:14", "GMT", "-", " ", ":", "70", "9999", "feb", "29"]
    ) { bytes throws(BrokenProperty) in
        guard let date = CookieDate.parse(bytes) else { return }
        try demand((-11_644_473_600_000...253_402_300_799_000).contains(date), "A date is of no year that can be.")
    }

    private static let netscapeCookies = FuzzTarget(
        "netscape-cookies",
        words: ["\t", "TRUE", "FALSE", "#HttpOnly_", "# ", "\n", "\r\n", ".example.com", "/", "0", "1893456000", "-1"]
    ) { bytes throws(BrokenProperty) in
        try demandSame(bytes, as: .netscape)
    }

    private static let jsonCookies = FuzzTarget(
        "json-cookies",
        words: [
            "[{", "}]", "},{", "\"name\":", "\"value\":", "\"domain\":", "\"a.example\"", "\"expires\":",
            "\"secure\":true",
            "\"sameSite\":\"none\"", "\"valueBase64\":", "\"AA==\"", "null", "1e999", "\"2030-01-01T00:00:00Z\"",
        ]
    ) { bytes throws(BrokenProperty) in
        try demandSame(bytes, as: .json)
    }

    private static func demandSame(_ bytes: [UInt8], as format: CookieFileFormat) throws(BrokenProperty) {
        guard let cookies = try? format.cookies(in: bytes) else { return }
        let again = try? format.cookies(in: format.file(of: cookies))
        // Netscape files know seconds only.
        let isSame = again?.elementsEqual(cookies) { $0.entry.isSame(as: $1.entry) && $0.entry.pair == $1.entry.pair }
        try demand(isSame == true, "Cookies are read as others from what is written.")
    }

    private static let cookieRecord = FuzzTarget(
        "cookie-record", words: ["\u{1}", "\0\0\0\u{8}instance", "\0\0\0\u{9}a.example"]
    ) {
        bytes throws(BrokenProperty) in
        guard let record = CookieRecord(bytes, number: 1) else { return }
        let again = CookieRecord(record.bytes, number: 1)
        try demand(again?.entry == record.entry && again?.principal == record.principal, "A record is read as another.")
    }
}
