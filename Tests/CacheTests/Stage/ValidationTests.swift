import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportCache

/// RFC 9111 §4.1, §4.3, §4.4 and §3.4.
@Suite(.timeLimit(.minutes(1))) struct ValidationTests {
    private func validated(
        _ first: KeyValuePairs<String, String>, _ second: KeyValuePairs<String, String>
    ) async throws -> Site {
        let (first, second) = (Answer(200, first), Answer(304, second))
        return try await Site { request, _ in
            let isAsked = request.headerFields.contains(.ifNoneMatch) || request.headerFields.contains(.ifModifiedSince)
            return isAsked ? second : first
        }
    }

    @Test func s4_3_1_validatorsAreSent() async throws {
        let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
        let site = try await validated(
            ["Cache-Control": "max-age=1", "ETag": "W/\"a\"", "Last-Modified": modified], ["ETag": "W/\"a\""])
        _ = try await site.get()
        site.clock.pass(10)
        #expect(try await site.get() == "1")
        #expect(
            try site.last.headerFields[.ifNoneMatch] == "W/\"a\""
                && site.last.headerFields[.ifModifiedSince] == modified)
    }

    /// §3.2, §4.3.4
    @Test func s4_3_4_aNotModifiedFreshensTheFields() async throws {
        let site = try await validated(
            [
                "Cache-Control": "max-age=1", "ETag": "\"a\"", "X-Old": "1", "X-Both": "1",
                "Content-Type": "text/plain",
                "Content-Length": "1", "Age": "1000",
            ],
            [
                "Cache-Control": "max-age=100", "ETag": "\"a\"", "X-Both": "2", "X-New": "2", "Content-Length": "0",
                "Content-Encoding": "gzip", "Connection": "x-hop", "X-Hop": "1", "Set-Cookie": "a=b",
            ])
        _ = try await site.get()
        site.clock.pass(10)
        let fresh = try await site.load()
        #expect(fresh.body == "1" && fresh.head.status == .ok)
        let stored = try await site.load().head.headerFields
        #expect(site.count == 2, "It is fresh again.")
        #expect(stored[.custom("X-Old")] == "1" && stored[.custom("X-Both")] == "2" && stored[.custom("X-New")] == "2")
        #expect(
            stored[.contentLength] == "1" && stored[.contentEncoding] == nil && stored[.contentType] == "text/plain")
        #expect(stored[.custom("X-Hop")] == nil && stored[.setCookie] == "a=b" && stored[.age] == "0")
        site.clock.pass(99)
        _ = try await site.get()
        #expect(site.count == 2)
    }

    /// What the server says of itself is for the stage that asked for it, once.
    @Test func theServersProofInANotModifiedIsPassedOn() async throws {
        let site = try await validated(
            ["Cache-Control": "max-age=1", "ETag": "\"a\"", "WWW-Authenticate": "Negotiate first"],
            [
                "Cache-Control": "max-age=100", "ETag": "\"a\"", "WWW-Authenticate": "Negotiate again",
                "Authentication-Info": "nextnonce=\"b\"",
            ])
        #expect(try await site.load().head.headerFields[.wwwAuthenticate] == "Negotiate first")
        site.clock.pass(10)
        let fresh = try await site.response(to: site.request())
        #expect(fresh.fieldsSentNow[values: .wwwAuthenticate] == ["Negotiate again"])
        #expect(fresh.fieldsSentNow[.authenticationInfo] == "nextnonce=\"b\"" && fresh.facts.cache == .revalidated)
        await site.cache.settle()
        let stored = try await site.response(to: site.request())
        #expect(stored.fieldsSentNow.isEmpty && site.count == 2)
        #expect(stored.head.headerFields[values: .wwwAuthenticate] == ["Negotiate again"])
    }

    /// RFC 9110 §6.6.1: without a `Date` of its own a 304 is as old as the time since it came.
    @Test func aNotModifiedWithoutADateIsOfNow() async throws {
        let clock = SiteClock()
        let site = try await validated(
            ["Cache-Control": "max-age=60", "ETag": "\"a\"", "Date": clock.date()], ["ETag": "\"a\""])
        _ = try await site.get()
        site.clock.pass(100)
        _ = try await site.get()
        site.clock.pass(59)
        _ = try await site.get()
        #expect(site.count == 2)
    }

    /// §4.3.4: a 304 that speaks of another answer freshens nothing; the server is asked without conditions.
    @Test func s4_3_4_aNotModifiedOfAnotherAnswerIsNotBelieved() async throws {
        let site = try await validated(["Cache-Control": "max-age=1", "ETag": "\"a\""], ["ETag": "\"b\""])
        _ = try await site.get()
        site.clock.pass(10)
        #expect(try await site.get() == "3")
        #expect(try site.last.headerFields[.ifNoneMatch] == nil)
    }

    @Test func s4_3_3_aWholeAnswerTakesThePlace() async throws {
        let site = try await Site { _, number in
            Answer(200, ["Cache-Control": "max-age=10", "ETag": "\"\(number)\""])
        }
        _ = try await site.get()
        site.clock.pass(20)
        #expect(try await site.get() == "2")
        #expect(try await site.get() == "2")
        #expect(site.cache.statistics.entries == 1)
    }

    /// An answer that may not be stored still ends the one before it.
    @Test func s4_3_3_whatIsOutdatedIsNotUsedAgain() async throws {
        let site = try await Site { _, number in
            number == 1 ? Answer(200, ["Cache-Control": "max-age=10"]) : Answer(200, ["Cache-Control": "no-store"])
        }
        _ = try await site.get()
        site.clock.pass(20)
        #expect(try await site.get() == "2")
        #expect(site.cache.statistics.entries == 0)
        #expect(try await site.get("/", policy: .returnCacheDataElseLoad) == "3")
    }

    /// §4.3.2: conditions of the app's own go to the server, and its 304 to the app.
    @Test(arguments: ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"])
    func s4_3_2_conditionsOfTheAppAreTheServers(_ name: String) async throws {
        let site = try await Site { request, _ in
            request.headerFields.contains(.custom(name))
                ? Answer(304, ["ETag": "\"a\"", "Cache-Control": "max-age=500"])
                : Answer(200, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
        }
        _ = try await site.get()
        #expect(try await site.load("/", [name: "\"a\""]).head.status == .notModified)
        #expect(site.count == 2)
        site.clock.pass(400)
        #expect(try await site.get() == "1", "It freshened what is stored.")
    }

    @Test func s4_3_5_headFreshensOrEnds() async throws {
        let site = try await Site { request, number in
            let tag = number < 4 ? "\"a\"" : "\"b\""
            return Answer(200, ["Cache-Control": "max-age=60", "ETag": tag, "X-Number": "\(number)"])
        }
        _ = try await site.get()
        site.clock.pass(61)
        #expect(try await site.get("/", method: .head) == "")
        #expect(site.count == 2)
        let head = try await site.load().head
        #expect(site.count == 2 && head.headerFields[.custom("X-Number")] == "2")
        site.clock.pass(61)
        _ = try await site.get("/", method: .head)
        site.clock.pass(61)
        _ = try await site.get("/", method: .head)
        #expect(site.count == 4 && site.cache.statistics.entries == 0)
    }

    /// Neither has a validator or a length that could differ.
    @Test(arguments: [HTTPRequest.Method.head, .get]) func s4_3_5_aHeadOfAnotherStatusEndsWhatIsStored(
        _ next: HTTPRequest.Method
    ) async throws {
        let site = try await Site { _, number in
            number == 1 ? Answer(404, ["Cache-Control": "max-age=5"]) : Answer(200, ["Cache-Control": "max-age=3600"])
        }
        #expect(try await site.load().head.status == .notFound)
        site.clock.pass(6)
        #expect(try await site.load("/", method: .head).head.status == .ok)
        #expect(site.cache.statistics.entries == 0)
        #expect(try await site.load("/", method: next).head.status == .ok)
        #expect(site.count == 3)
    }

    /// §4: a stored GET answers a HEAD.
    @Test func s4_headIsAnsweredFromAGet() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Content-Length": "1"]))
        _ = try await site.get()
        let (head, body) = try await site.load("/", method: .head)
        #expect(site.count == 1 && body.isEmpty && head.headerFields[.contentLength] == "1")
    }

    // MARK: Vary

    @Test func s4_1_varySelects() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Vary": "Accept-Language, X-A"]))
        #expect(try await site.get("/", ["Accept-Language": "de", "X-A": "1"]) == "1")
        #expect(try await site.get("/", ["Accept-Language": "fr", "X-A": "1"]) == "2")
        #expect(try await site.get("/", ["Accept-Language": "de"]) == "3")
        #expect(try await site.get("/", ["Accept-Language": "DE", "X-A": " 1", "X-B": "2"]) == "1")
        #expect(try await site.get("/", ["Accept-Language": "fr", "X-A": "1"]) == "2")
        #expect(try await site.get("/", ["Accept-Language": "de"]) == "3")
        #expect(try await site.get("/", ["Accept-Language": "de", "X-A": ""]) == "4", "Empty is not absent.")
    }

    @Test func s4_1_linesAndWhiteSpaceMakeNoDifference() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Vary": "x-a"]))
        #expect(try await site.get("/", ["X-A": "a, b"]) == "1")
        #expect(try await site.get("/", ["X-A": "a", "x-a": "b"]) == "1")
        #expect(try await site.get("/", ["X-A": " a, b "]) == "1")
        #expect(try await site.get("/", ["X-A": "b, a"]) == "2")
        #expect(try await site.get("/", ["X-A": "A, b"]) == "3")
        #expect(try await site.get("/", ["X-A": "a,b"]) == "4", "Where white space may stand is the field's to say.")
        #expect(try await site.get("/", ["X-A": "a,  b"]) == "5")
    }

    @Test func s4_1_whatMeansTheSameIsTheSame() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Vary": "accept, accept-encoding"]))
        #expect(try await site.get("/", ["Accept": "text/html, */*;q=0.5", "Accept-Encoding": "gzip, br"]) == "1")
        #expect(try await site.get("/", ["Accept": "TEXT/HTML,*/* ; q=0.50", "Accept-Encoding": "br;q=1,GZIP"]) == "1")
        #expect(try await site.get("/", ["Accept": "*/*;q=0.5, text/html", "Accept-Encoding": "gzip, br"]) == "2")
    }

    @Test(arguments: ["*", "x-a, *", "x-a, y(z"])
    func s4_1_whatMatchesNothingIsNotStored(_ vary: String) async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Vary": vary]))
        _ = try await site.get()
        #expect(site.cache.statistics.entries == 0)
    }

    /// The newest of several that match, as when a server changes what it varies by.
    @Test func s4_1_aChangingVaryIsFollowed() async throws {
        let site = try await Site { _, number in
            Answer(200, ["Cache-Control": "max-age=60", "Vary": number == 1 ? "x-a" : "x-b"])
        }
        #expect(try await site.get("/", ["X-A": "1"]) == "1")
        #expect(try await site.get("/", ["X-A": "2"]) == "2")
        #expect(try await site.get("/", ["X-A": "1"]) == "2", "No X-B in either: the newer one.")
        #expect(try await site.get("/", ["X-A": "1", "X-B": "1"]) == "1")
        #expect(try await site.get("/", ["X-A": "5", "X-B": "1"]) == "3")
        for number in 0..<100 { _ = try await site.get("/", ["X-B": "\(number)"]) }
        #expect(site.cache.statistics.entries <= CacheIndex.variationLimit)
    }

    // MARK: Invalidation

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch, HTTPRequest.Method("PURGE") ?? .post])
    func s4_4_unsafeMethodsInvalidate(_ method: HTTPRequest.Method) async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        _ = try await site.get("/", principal: Principal("ann"))
        _ = try await site.get("/other")
        _ = try await site.get("/", method: method)
        #expect(site.cache.statistics.entries == 1)
        #expect(try await site.get("/other") == "3")
        #expect(try await site.get() == "5")
    }

    @Test func s4_4_errorsInvalidateNothing() async throws {
        let site = try await Site { request, _ in request.method == .get ? .fresh() : Answer(500) }
        _ = try await site.get()
        _ = try await site.get("/", method: .post)
        #expect(try await site.get() == "1")
    }

    @Test func s4_4_namedURLsOfTheSameOriginAreInvalidated() async throws {
        let site = try await Site { request, _ in
            request.method == .get
                ? .fresh()
                : Answer(201, ["Location": "/b?x", "Content-Location": "https://b.example/"])
        }
        for url in ["/", "/b?x", "/c", "https://b.example/"] { _ = try await site.get(url) }
        _ = try await site.get("/c", method: .post)
        #expect(try await site.get("/") == "1")
        #expect(try await site.get("https://b.example/") == "4", "Another origin's is not touched.")
        #expect(try await site.get("/b?x") == "6")
        #expect(try await site.get("/c") == "7")
    }

    /// What was asked for before a change is not stored behind it.
    @Test func anAnswerOfBeforeAChangeIsNotStoredBehindIt() async throws {
        let site = try await Site(.fresh())
        let old = try await site.response(to: site.request())
        _ = try await site.get("/", method: .post)
        _ = try await old.body.collect(upTo: .mebibytes(1))
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
        let other = try await site.response(to: site.request())
        try await site.cache.removeAll()
        _ = try await other.body.collect(upTo: .mebibytes(1))
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
    }

    @Test func contentOfAGetIsTheServers() async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        var request = try site.request()
        request.body = .text("query")
        let response = try await site.response(to: request)
        #expect(try await response.body.collect(upTo: .mebibytes(1)) == Array("2".utf8))
    }
}
