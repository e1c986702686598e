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
    func whatIsNoDateHasExpired(_ text: String) {
        #expect(lifetime(200, ("Expires", text), ("Last-Modified", clock.date(-1_000_000))) == 0)
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
        #expect(age([.age: "10, 20"], after: 0) == 23)
        #expect(age([.age: "x"], after: 0) == 3)
        #expect(age([.age: "-5"], after: 0) == 3)
        #expect(age([.age: "99999999999999999999"], after: 0) == CacheControl.longest)
        #expect(age([:], after: -60) == nil, "The clock was turned back.")
    }

    /// RFC 9110 §5.6.7
    @Test func datesAreReadInAllThreeForms() {
        let now = CacheTime(seconds: 1_800_000_000)
        let texts = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "sun, 06 nov 1994 08:49:37 gmt",
        ]
        for text in texts { #expect(HTTPDate.parse(text, now: now) == CacheTime(seconds: 784_111_777), "\(text)") }
        #expect(HTTPDate.parse("Sunday, 06-Nov-77 08:49:37 GMT", now: now) == CacheTime(seconds: 3_403_414_177))
        for text in ["", "Sun", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "1 2 3 4 5 6"] {
            #expect(HTTPDate.parse(text, now: now) == nil, "\(text)")
        }
    }
}
