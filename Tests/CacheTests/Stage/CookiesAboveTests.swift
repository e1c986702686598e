import HTTPTypes
import Logging
import SallyportBase
import SallyportCookies
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache

/// The cache below the jar: what is stored sets no cookie again, and what would be sent is what `Vary: Cookie` sees.
@Suite(.timeLimit(.minutes(1))) struct CookiesAboveTests {
    private struct Both {
        let site: Site
        let jars: CookieJars

        init(_ answer: Answer) async throws { try await self.init { _, _ in answer } }

        init(_ answer: @escaping @Sendable (LoadRequest, Int) async throws(LoadError) -> Answer) async throws {
            site = try await Site(answer)
            jars = CookieJars(in: site.store, gate: site.gate, logger: Logger(label: "test"))
        }

        func get(
            _ path: String = "/", principal: Principal = .instance, handlesCookies: Bool? = nil,
            cookie: String? = nil
        ) async throws -> HTTPResponse {
            let response = try await response(
                to: path, principal: principal, handlesCookies: handlesCookies, cookie: cookie)
            _ = try await response.body.collect(upTo: .mebibytes(1))
            await site.cache.settle()
            return response.head
        }

        func response(
            to path: String = "/", principal: Principal = .instance, handlesCookies: Bool? = nil,
            cookie: String? = nil
        ) async throws -> LoadResponse {
            let cookies = jars.stages(of: .instance, acceptPolicy: .always, handlesCookies: true)
            let stages = cookies + [CacheStage(cache: site.cache, gate: site.gate), site.server]
            var request = try site.request(path)
            if let handlesCookies { request.options.handlesCookies = handlesCookies }
            if let cookie { request.headerFields[.cookie] = cookie }
            return try await LoadChain(stages).load(request, in: .of(principal))
        }

        /// The `Cookie` fields that the server has got.
        var cookies: [String?] { site.server.requests.map { $0.headerFields[.cookie] } }
    }

    @Test func aStoredAnswerSetsNoCookieAgain() async throws {
        let both = try await Both(Answer(200, ["Cache-Control": "max-age=60", "Set-Cookie": "a=1; Path=/"]))
        _ = try await both.get()
        try await both.jars.main.removeAll()
        #expect(try await both.get().headerFields[.setCookie] == "a=1; Path=/", "The app sees what is stored.")
        #expect(both.site.count == 1)
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == nil, "The stored answer has set nothing.")
        _ = try await both.get("/third")
        #expect(try both.site.last.headerFields[.cookie] == "a=1", "The live answer did.")
    }

    /// The server knows the user by the cookie, and does not say `Vary: Cookie`.
    @Test func anAnswerToTheJarsCookiesIsNotForALoadWithoutThem() async throws {
        let both = try await Both(Answer(200, ["Cache-Control": "max-age=60", "Set-Cookie": "a=1; Path=/"]))
        _ = try await both.get("/first")
        _ = try await both.get()
        #expect(try both.site.last.headerFields[.cookie] == "a=1")
        _ = try await both.get(handlesCookies: false)
        #expect(both.site.count == 3, "The answer to the user does not reach a load without cookies.")
        #expect(try both.site.last.headerFields[.cookie] == nil)
        _ = try await both.get(handlesCookies: false)
        _ = try await both.get()
        #expect(both.site.count == 3, "Each finds its own.")
        _ = try await both.get(handlesCookies: false, cookie: "own=1")
        #expect(both.site.count == 4, "A load with the app's cookie finds neither.")
    }

    /// The server knows users by cookies that the app sets itself, and does not say `Vary: Cookie`.
    @Test(arguments: [nil, false]) func anAnswerToTheAppsCookieIsForThatCookieAlone(handlesCookies: Bool?) async throws
    {
        let both = try await Both { request, _ in
            Answer(200, ["Cache-Control": "private, max-age=60", "X-User": request.headerFields[.cookie] ?? "none"])
        }
        for user in ["user=a", "user=b", "user=a", "user=b"] {
            let head = try await both.get(handlesCookies: handlesCookies, cookie: user)
            #expect(head.headerFields[.custom("X-User")] == user)
        }
        #expect(both.site.count == 2, "Each finds its own.")
        _ = try await both.get(handlesCookies: handlesCookies)
        #expect(both.site.count == 3, "A load without a cookie finds neither.")
    }

    @Test func loadsWithDifferentCookiesOfTheAppShareNoFlight() async throws {
        let both = try await Both { request, _ in
            Answer(200, ["Cache-Control": "private, max-age=60", "X-User": request.headerFields[.cookie] ?? "none"])
        }
        try await withThrowingTaskGroup { group in
            for user in ["user=a", "user=b", "user=c", "user=d"] {
                group.addTask {
                    let head = try await both.get(cookie: user)
                    #expect(head.headerFields[.custom("X-User")] == user)
                }
            }
            try await group.waitForAll()
        }
        #expect(both.site.count == 4)
    }

    /// The jar's cookies change from answer to answer; what is stored serves its user all the same.
    @Test func anAnswerToTheJarsCookiesServesItsUserAfterTheyHaveChanged() async throws {
        let both = try await Both { _, number in
            Answer(200, ["Cache-Control": "max-age=60", "Set-Cookie": "a=\(number); Path=/"])
        }
        _ = try await both.get()
        _ = try await both.get("/other")
        _ = try await both.get()
        #expect(both.site.count == 2)
    }

    /// The server sends the fields of a 304 now, so their cookies are set.
    @Test func aValidationSetsItsCookie() async throws {
        let both = try await Both { _, number in
            number == 1
                ? Answer(200, ["Cache-Control": "no-cache", "ETag": "\"a\"", "Set-Cookie": "a=1; Path=/"])
                : Answer(304, ["ETag": "\"a\"", "Set-Cookie": "a=2; Path=/"])
        }
        for _ in 0..<2 { #expect(try await both.get().status == .ok) }
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=2")
    }

    /// The server sends the fields of its failure now, and not those of the stored answer that stands in for it.
    @Test func aFailureThatAStoredAnswerStandsInForSetsItsOwnCookieOnly() async throws {
        let both = try await Both { _, number in
            number == 2
                ? Answer(503, ["Set-Cookie": "b=2; Path=/"])
                : Answer(200, ["Cache-Control": "max-age=60, stale-if-error=600", "Set-Cookie": "a=1; Path=/"])
        }
        _ = try await both.get()
        try await both.jars.main.removeAll()
        both.site.clock.pass(80)
        #expect(try await both.get().headerFields[.setCookie] == "a=1; Path=/", "The app sees what is stored.")
        #expect(both.site.count == 2)
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "b=2")
    }

    // MARK: Answers that no load gets

    /// RFC 5861 §3: the load has its stale answer already when the server answers.
    @Test(arguments: [200, 304, 401, 503]) func rfc5861_s3_aValidationBehindSetsItsCookie(status: Int) async throws {
        let both = try await Both { _, number in
            number == 1
                ? Answer(
                    200,
                    [
                        "Cache-Control": "max-age=60, stale-while-revalidate=600", "ETag": "\"a\"",
                        "Set-Cookie": "a=1; Path=/",
                    ])
                : Answer(status, ["ETag": "\"a\"", "Set-Cookie": "a=2; Path=/"])
        }
        _ = try await both.get()
        both.site.clock.pass(80)
        #expect(try await both.get().headerFields[.setCookie] == "a=1; Path=/", "The app sees what is stored.")
        #expect(try await eventually { both.site.count == 2 && both.site.cache.revalidations.count == 0 })
        await both.site.cache.settle()
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=2")
    }

    @Test func aNotModifiedOfAnotherAnswerSetsItsCookie() async throws {
        let both = try await Both { _, number in
            number == 2
                ? Answer(304, ["ETag": "\"b\"", "Set-Cookie": "a=2; Path=/"])
                : Answer(200, ["Cache-Control": "no-cache", "ETag": "\"a\""])
        }
        for _ in 0..<2 { _ = try await both.get() }
        #expect(both.site.count == 3, "The request was sent again without conditions.")
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=2")
    }

    @Test func aRestOfAnotherAnswerSetsItsCookie() async throws {
        let both = try await Both { _, number in
            guard number != 2 else { return Answer(416, ["Set-Cookie": "a=2; Path=/"]) }
            let body = Array("0123456789abcdefghij".utf8.prefix(number == 1 ? 8 : 20))
            var answer = Answer(
                200, ["Cache-Control": "max-age=60", "ETag": "\"a\"", "Content-Length": "20"], body: body)
            if number == 1 { answer.failure = LoadError(.connectionLost, at: .response, "gone") }
            return answer
        }
        await #expect(throws: LoadError(.connectionLost, "")) { _ = try await both.get() }
        await both.site.cache.settle()
        _ = try await both.get()
        #expect(both.site.server.requests.map { $0.headerFields[.range] } == [nil, "bytes=8-19", nil])
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=2")
    }

    // MARK: Requests that are sent again after such an answer

    /// Whether a load handles cookies, the app's own cookie, and the cookies of the requests.
    private static let resent: [(Bool?, String?, [String?])] = [
        (nil, nil, [nil, "a=1", "a=2"]), (nil, "own=1", ["own=1", "own=1", "own=1"]), (false, nil, [nil, nil, nil]),
    ]

    @Test(arguments: resent) func aRequestAfterANotModifiedOfAnotherAnswerHasItsCookie(
        handlesCookies: Bool?, own: String?, expected: [String?]
    ) async throws {
        let both = try await Both { _, number in
            number == 2
                ? Answer(304, ["ETag": "\"b\"", "Set-Cookie": "a=2; Path=/"])
                : Answer(200, ["Cache-Control": "no-cache", "ETag": "\"a\"", "Set-Cookie": "a=\(number); Path=/"])
        }
        for _ in 0..<2 { _ = try await both.get(handlesCookies: handlesCookies, cookie: own) }
        #expect(both.cookies == expected)
    }

    @Test func aRequestAfterARestOfAnotherAnswerHasItsCookie() async throws {
        let both = try await Both { _, number in
            guard number != 2 else { return Answer(416, ["Set-Cookie": "a=2; Path=/"]) }
            let body = Array("0123456789abcdefghij".utf8.prefix(number == 1 ? 8 : 20))
            var answer = Answer(
                200,
                [
                    "Cache-Control": "max-age=60", "ETag": "\"a\"", "Content-Length": "20",
                    "Set-Cookie": "a=\(number); Path=/",
                ], body: body)
            if number == 1 { answer.failure = LoadError(.connectionLost, at: .response, "gone") }
            return answer
        }
        await #expect(throws: LoadError(.connectionLost, "")) { _ = try await both.get() }
        await both.site.cache.settle()
        _ = try await both.get()
        #expect(both.cookies == [nil, "a=1", "a=2"])
        _ = try await both.get()
        #expect(both.site.count == 3, "The answer is stored for the same loads as before.")
    }

    /// RFC 9111 §4.1: the answer is one to the renewed cookie.
    @Test func rfc9111_s4_1_anAnswerToARenewedCookieIsNotForTheEarlierOne() async throws {
        let both = try await Both { _, number in
            guard number != 3 else { return Answer(304, ["ETag": "\"b\"", "Set-Cookie": "a=2; Path=/"]) }
            let control = number < 3 ? "no-cache" : "max-age=60"
            return Answer(
                200, ["Cache-Control": control, "ETag": "\"a\"", "Vary": "Cookie", "Set-Cookie": "a=1; Path=/"])
        }
        for _ in 0..<4 { _ = try await both.get() }
        #expect(both.cookies == [nil, "a=1", "a=1", "a=2", "a=1"])
    }

    @Test func theRestOfABodyThatIsLostWhileItIsReadSetsItsCookie() async throws {
        let body = [UInt8](repeating: 7, count: 400_000)
        let both = try await Both { _, number in
            var answer = Answer(200, ["Cache-Control": "max-age=60", "ETag": "\"a\""], body: body)
            if number == 2 { answer.fields.append(("Set-Cookie", "a=2; Path=/")) }
            return answer
        }
        _ = try await both.get()
        let response = try await both.response()
        _ = try await response.body.next()
        try await both.site.cache.removeAll()
        while try await response.body.next() != nil {}
        #expect(both.site.count == 2)
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=2")
    }

    @Test func varyCookieSeesWhatWouldBeSent() async throws {
        let both = try await Both(Answer(200, ["Cache-Control": "max-age=60", "Vary": "Cookie"]))
        _ = try await both.get()
        _ = try await both.get()
        #expect(both.site.count == 1)
        let setting = try await Both(
            Answer(200, ["Cache-Control": "max-age=60", "Vary": "Cookie", "Set-Cookie": "a=1; Path=/"]))
        for _ in 0..<4 { _ = try await setting.get() }
        #expect(setting.site.count == 2, "Once without the cookie and once with it.")
    }
}
