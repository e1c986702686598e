import HTTPTypes
import Testing

@testable import SallyportCache

/// RFC 9111 §4.2.
@Suite struct FreshnessTests {
    private let clock = SiteClock()

    private func lifetime(_ status: Int = 200, _ fields: (String, String)...) -> Int64 {
        var head = HTTPResponse(status: .init(code: status))
        for (name, value) in fields { head.headerFields.append(HTTPField(name: .custom(name), value: value)) }
        return Freshness(of: head, CacheControl(head.headerFields), received: clock.now).lifetime
    }

    /// §4.2.1
    @Test func maxAgeGoesBeforeExpires() {
        #expect(lifetime(200, ("Cache-Control", "max-age=7"), ("Expires", clock.date(1000))) == 7)
        #expect(lifetime(200, ("Expires", clock.date(1000)), ("Date", clock.date())) == 1000)
        #expect(lifetime(200, ("Expires", clock.date(90)), ("Date", clock.date(-10))) == 100)
    }

    /// §4.2.1: a private cache takes no notice of what is for shared ones.
    @Test func sharedAgesAreNotForPrivateCaches() {
        #expect(lifetime(200, ("Cache-Control", "s-maxage=100, max-age=5")) == 5)
    }

    /// §5.3
    @Test(arguments: ["0", "-1", "", "tomorrow", "Thu, 99 Foo 2027 00:00:00 GMT"])
    func anInvalidDateHasExpired(_ text: String) {
        #expect(lifetime(200, ("Expires", text), ("Last-Modified", clock.date(-1_000_000))) == 0)
    }

    /// §4.2, §5.3: a text with another zone, or not in the form of the grammar, is not a date.
    @Test(arguments: [
        "Mon, 18 Jan 2027 08:00:00 UTC", "Mon, 18 Jan 2027 08:00:00 CET", "Mon, 18 Jan 2027 08:00:00 +0000",
        "Mon, 18 Jan 2027  08:00:00 GMT", "Mon,  18 Jan 2027 08:00:00 GMT", "Mon,18 Jan 2027 08:00:00 GMT",
        "Mon, 18 Jan 2027 08:00:00", "Mon, 18 Jan 27 08:00:00 GMT", "Mon, 8 Feb 2027 08:00:00 GMT",
        "Mon, 18 Jan 2027 8:00:00 GMT", "Mon, 18-Jan-2027 08:00:00 GMT", "Monday, 18 Jan 2027 08:00:00 GMT",
        "18 Jan 2027 08:00:00 GMT", "Mon, 31 Feb 2027 08:00:00 GMT", "Mon, 18 Jan 2027 08:00:61 GMT",
        "Mon Jan 18 08:00:00 2027 GMT", "Mon, 18 Jan 2027 08:00:00 GMT, x", "2027-01-18T08:00:00Z",
    ])
    func textThatResemblesADateHasExpired(_ text: String) {
        #expect(lifetime(200, ("Expires", text)) == 0, "\(text)")
        #expect(lifetime(200, ("Expires", "Mon, 18 Jan 2027 08:00:00 GMT")) > 0)
    }

    @Test func theEarliestOfSeveralExpiriesCounts() {
        #expect(lifetime(200, ("Expires", clock.date(100)), ("Expires", clock.date(10)), ("Date", clock.date())) == 10)
        #expect(lifetime(200, ("Expires", clock.date(100)), ("Expires", "x"), ("Date", clock.date())) == 0)
    }

    /// §4.2.2
    @Test func aTenthOfTheAgeIsGuessed() {
        #expect(lifetime(200, ("Last-Modified", clock.date(-1000)), ("Date", clock.date())) == 100)
        #expect(lifetime(200, ("Last-Modified", clock.date(-100_000_000)), ("Date", clock.date())) == 86_400)
        #expect(lifetime(200, ("Last-Modified", clock.date(1000))) == 0)
        #expect(lifetime(200) == 0)
        #expect(lifetime(302, ("Last-Modified", clock.date(-1000))) == 0)
        #expect(lifetime(404, ("Last-Modified", clock.date(-1000))) == 100)
        #expect(lifetime(302, ("Last-Modified", clock.date(-1000)), ("Cache-Control", "public")) == 100)
    }

    /// §4.2.3
    @Test func theAgeIsThatOfAllCachesOnTheWay() {
        let received = clock.now
        let requested = CacheTime(milliseconds: received.milliseconds - 3000)
        func age(_ fields: HTTPFields, after seconds: Int64) -> Int64? {
            Age(of: fields, requested: requested, received: received).seconds(
                at: CacheTime(milliseconds: received.milliseconds + seconds * 1000))
        }
        #expect(age([.age: "10"], after: 5) == 18)
        #expect(age([.date: clock.date(-100)], after: 0) == 100)
        #expect(age([.date: clock.date(100)], after: 0) == 3)
        #expect(age([.age: "99999999999999999999"], after: 0) == CacheControl.longest)
        #expect(age([:], after: -60) == nil, "The clock was turned back.")
    }

    /// §5.1: the first member of a list is used; if it is not a number, the field is ignored.
    @Test(arguments: [
        ("10, 20", 13), ("20, 10", 23), ("x, 20", 3), ("x", 3), ("-5", 3), ("", 3), (", 20", 3), ("1.5", 3), ("+7", 3),
        ("7 s", 3), ("0x10", 3), ("\"7\"", 3),
    ])
    func anInvalidAgeIsNone(_ text: String, _ expected: Int) {
        let (received, requested) = (clock.now, CacheTime(milliseconds: clock.now.milliseconds - 3000))
        let age = Age(of: [.age: text], requested: requested, received: received)
        #expect(age.seconds(at: received) == Int64(expected), "\(text)")
    }

    @Test func ofSeveralLinesOfAgeTheFirstCounts() {
        var fields: HTTPFields = [.age: "5"]
        fields.append(HTTPField(name: .age, value: "50"))
        #expect(Age(of: fields, requested: clock.now, received: clock.now).initial == 5)
    }

    /// RFC 9110 §5.6.7
    @Test func datesAreReadInAllThreeForms() {
        let now = CacheTime(seconds: 1_800_000_000)
        let texts = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "sun, 06 nov 1994 08:49:37 gmt",
        ]
        for text in texts { #expect(HTTPDate.parse(text, now: now) == CacheTime(seconds: 784_111_777), "\(text)") }
        // 50 years from now is 15 January 2077.
        #expect(HTTPDate.parse("Thursday, 14-Jan-77 08:00:00 GMT", now: now) == CacheTime(seconds: 3_377_836_800))
        #expect(HTTPDate.parse("Sunday, 06-Nov-77 08:49:37 GMT", now: now) == CacheTime(seconds: 247_654_177))
        #expect(HTTPDate.parse("Tue, 29 Feb 2028 00:00:00 GMT", now: now) == CacheTime(seconds: 1_835_395_200))
        #expect(HTTPDate.parse("Mon, 29 Feb 2027 00:00:00 GMT", now: now) == nil)
        for text in ["", "Sun", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "1 2 3 4 5 6"] {
            #expect(HTTPDate.parse(text, now: now) == nil, "\(text)")
        }
    }
}
