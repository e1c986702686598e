import Foundation
import SallyportBase
import Testing

@testable import SallyportCookies

/// RFC 6265bis §5.1.1, with the cases that the authors of RFC 6265 gathered and some of browsers.
@Suite struct CookieDateTests {
    private func text(_ date: String) -> String? {
        CookieDate.parse(Array(date.utf8)).map {
            Date(timeIntervalSince1970: Double($0) / 1000).formatted(.iso8601)
        }
    }

    @Test(arguments: [
        ("Mon, 10-Dec-2007 17:02:24 GMT", "2007-12-10T17:02:24Z"),
        ("Wed, 09 Dec 2009 16:27:23 GMT", "2009-12-09T16:27:23Z"),
        ("Wed Dec 09 16:27:23 2009", "2009-12-09T16:27:23Z"),
        ("Thursday, 01-Jan-1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
        ("Mon Dec 24 16:32:30 1977 GMT", "1977-12-24T16:32:30Z"),
        ("Mon, 01-Jan-06 00:00:00 GMT", "2006-01-01T00:00:00Z"),
        ("12 Jan 09 16:27:23", "2009-01-12T16:27:23Z"),
        ("Mon, 10-Dec-70 17:02:24", "1970-12-10T17:02:24Z"),
        ("Mon, 10-Dec-69 17:02:24", "2069-12-10T17:02:24Z"),
        ("Sunday + 10-Dec-2007 ++ 17:02:24", "2007-12-10T17:02:24Z"),
        ("10-Dec-2007 17:02:24 PST", "2007-12-10T17:02:24Z"),
        ("10 december 2007 17:02:24", "2007-12-10T17:02:24Z"),
        ("10 DECade 2007 17:02:24", "2007-12-10T17:02:24Z"),
        ("10-Dec-2007 1:2:4", "2007-12-10T01:02:04Z"),
        ("10th Dec 2007AD 17:02:24.5", "2007-12-10T17:02:24Z"),
        ("29 Feb 2024 00:00:00", "2024-02-29T00:00:00Z"), ("29 Feb 2000 00:00:00", "2000-02-29T00:00:00Z"),
        ("31 Dec 9999 23:59:59", "9999-12-31T23:59:59Z"), ("1 Jan 1601 00:00:00", "1601-01-01T00:00:00Z"),
        ("10 Dec 2007 17:02:24 11 Jan 2008 18:03:25", "2007-12-10T17:02:24Z"),
        ("17:02:24 Dec 10 2007", "2007-12-10T17:02:24Z"), ("2007 Dec 10 17:02:24", "2007-12-10T17:02:24Z"),
    ])
    func section5_1_1_aDateIsReadByItsTokens(_ date: String, _ expected: String?) {
        #expect(text(date) == expected)
    }

    @Test(arguments: [
        "", "Mon", "10 Dec 2007", "Dec 2007 17:02:24", "10 2007 17:02:24", "10 Dec 17:02:24",
        "31 Feb 2007 17:02:24", "29 Feb 2023 17:02:24", "29 Feb 1900 17:02:24", "0 Dec 2007 17:02:24",
        "32 Dec 2007 17:02:24", "10 Dec 1600 17:02:24", "10 Dec 2007 24:02:24", "10 Dec 2007 17:60:24",
        "10 Dec 2007 17:02:60", "10 Dec 20070 17:02:24", "10 Dec 2007 17:02", "10 Dec 2007 117:02:24",
        "10 Foo 2007 1:1:1",
        "10 Dec 2007 17 :02:24",
    ])
    func section5_1_1_whatIsNoDateFails(_ date: String) { #expect(text(date) == nil) }

    @Test func daysAreCountedAsTheCalendarHasThem() {
        for day in stride(from: Int64(-130_000), to: 200_000, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            #expect(CivilDate.daysSince1970(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0) == day)
        }
    }
}
