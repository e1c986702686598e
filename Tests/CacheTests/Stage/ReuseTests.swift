import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache

/// RFC 9111 §4, §5.2, RFC 5861, RFC 8246: what answers a request.
@Suite(.timeLimit(.minutes(1))) struct ReuseTests {
    @Test func s4_2_anAnswerIsFreshForItsLifetime() async throws {
        let site = try await Site(.fresh(60))
        #expect(try await site.get() == "1")
        site.clock.pass(59)
        #expect(try await site.get() == "1")
        site.clock.pass(1)
        #expect(try await site.get() == "2")
    }

    @Test func explanationSaysWhatTheCacheWouldDoAndChangesNothing() async throws {
        let site = try await Site(.fresh(60))
        #expect(try await site.explained() == ["miss"])
        _ = try await site.get()
        #expect(try await site.explained() == ["hit"])
        #expect(try await site.explained(method: .post).isEmpty)
        #expect(try await site.explained(policy: .reloadIgnoringLocalCacheData) == ["bypassed"])
        site.clock.pass(61)
        #expect(try await site.explained() == ["revalidated"] && site.count == 1)
        #expect(site.cache.statistics.hits == 0 && site.cache.statistics.misses == 1)
    }

    @Test func s4_theAgeIsTold() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "Age": "5"]))
        _ = try await site.get()
        site.clock.pass(10)
        #expect(try await site.load().head.headerFields[.age] == "15")
        site.clock.pass(45)
        #expect(try await site.get() == "2", "The age of other caches counts.")
    }

    @Test func s4_2_2_aHeuristicLifetimeIsATenth() async throws {
        let site = try await Site { [clock = SiteClock()] _, _ in
            Answer(200, ["Last-Modified": clock.date(-1000), "Date": clock.date()])
        }
        #expect(try await site.get() == "1")
        site.clock.pass(99)
        #expect(try await site.get() == "1")
        site.clock.pass(2)
        #expect(try await site.get() == "2")
    }

    /// §4.2.4: a clock that was turned back makes nothing fresh.
    @Test func aClockThatIsTurnedBackMakesNothingFresh() async throws {
        let site = try await Site(.fresh(60))
        #expect(try await site.get() == "1")
        site.clock.pass(-3600)
        #expect(try await site.get() == "2")
    }

    @Test func s5_2_1_1_requestMaxAge() async throws {
        let site = try await Site(.fresh(60))
        _ = try await site.get()
        site.clock.pass(10)
        #expect(try await site.get("/", ["Cache-Control": "max-age=10"]) == "1")
        #expect(try await site.get("/", ["Cache-Control": "max-age=9"]) == "2")
    }

    @Test func s5_2_1_2_maxStale() async throws {
        let site = try await Site(.fresh(60))
        _ = try await site.get()
        site.clock.pass(70)
        #expect(try await site.get("/", ["Cache-Control": "max-stale=10"]) == "1")
        #expect(try await site.get("/", ["Cache-Control": "max-stale"]) == "1")
        #expect(try await site.get("/", ["Cache-Control": "max-stale=9"]) == "2")
    }

    @Test func s5_2_1_1_maxAgeCountsWithMaxStaleToo() async throws {
        let site = try await Site(.fresh(10))
        _ = try await site.get()
        site.clock.pass(60)
        #expect(try await site.get("/", ["Cache-Control": "max-age=60, max-stale=3600"]) == "1")
        #expect(try await site.get("/", ["Cache-Control": "max-age=59, max-stale=3600"]) == "2")
        site.clock.pass(60)
        #expect(try await site.get("/", ["Cache-Control": "max-age=59, max-stale"]) == "3")
    }

    @Test func s5_2_1_3_minFresh() async throws {
        let site = try await Site(.fresh(60))
        _ = try await site.get()
        site.clock.pass(10)
        #expect(try await site.get("/", ["Cache-Control": "min-fresh=50"]) == "1")
        #expect(try await site.get("/", ["Cache-Control": "min-fresh=51"]) == "2")
    }

    @Test func s5_2_1_4_requestNoCache() async throws {
        let site = try await Site(.fresh(60))
        _ = try await site.get()
        #expect(try await site.get("/", ["Cache-Control": "no-cache"]) == "2")
        #expect(try await site.get() == "2")
    }

    /// §5.4
    @Test func s5_4_pragmaCountsWithoutCacheControl() async throws {
        let site = try await Site(.fresh(60))
        _ = try await site.get()
        #expect(try await site.get("/", ["Pragma": "no-cache", "Cache-Control": "max-age=60"]) == "1")
        #expect(try await site.get("/", ["Pragma": "no-cache"]) == "2")
    }

    @Test func s5_2_1_7_onlyIfCached() async throws {
        let site = try await Site(.fresh(60))
        #expect(try await site.load("/", ["Cache-Control": "only-if-cached"]).head.status == .gatewayTimeout)
        #expect(site.count == 0)
        _ = try await site.get()
        #expect(try await site.get("/", ["Cache-Control": "only-if-cached"]) == "1")
        site.clock.pass(100)
        #expect(try await site.load("/", ["Cache-Control": "only-if-cached"]).head.status == .gatewayTimeout)
        #expect(try await site.get("/", ["Cache-Control": "only-if-cached, max-stale"]) == "1")
        #expect(site.count == 1)
    }

    @Test func s5_2_2_2_mustRevalidateAllowsNothingStale() async throws {
        let site = try await Site(
            Answer(
                200, ["Cache-Control": "max-age=60, must-revalidate, stale-while-revalidate=99, stale-if-error=99"]))
        _ = try await site.get()
        site.clock.pass(61)
        #expect(try await site.get("/", ["Cache-Control": "max-stale"]) == "2")
        site.clock.pass(61)
        #expect(try await site.get() == "3")
    }

    @Test func s5_2_2_4_noCacheIsAskedEachTime() async throws {
        let site = try await Site { request, number in
            request.headerFields[.ifNoneMatch] == "\"a\""
                ? Answer(304, ["ETag": "\"a\""])
                : Answer(200, ["Cache-Control": "no-cache, max-age=60", "ETag": "\"a\""])
        }
        for _ in 0..<3 { #expect(try await site.get() == "1") }
        #expect(site.count == 3)
        #expect(site.cache.statistics.revalidations == 2)
    }

    /// RFC 5861 §3
    @Test func rfc5861_s3_staleWhileRevalidate() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60, stale-while-revalidate=30"]))
        #expect(try await site.get() == "1")
        site.clock.pass(80)
        #expect(try await site.get("/", ["Cache-Control": "only-if-cached"]) == "1")
        #expect(site.cache.revalidations.count == 0, "What must stay inside sends nothing behind either.")
        #expect(try await site.get() == "1")
        #expect(try await eventually { site.count == 2 && site.cache.revalidations.count == 0 })
        await site.cache.settle()
        #expect(try await site.get() == "2")
        site.clock.pass(91)
        #expect(try await site.get() == "3")
    }

    /// RFC 5861 §4
    @Test func rfc5861_s4_staleIfError() async throws {
        let site = try await Site { _, number throws(LoadError) in
            switch number {
            case 1: return Answer(200, ["Cache-Control": "max-age=60, stale-if-error=100"])
            case 2: return Answer(503)
            case 3: throw LoadError(.cannotConnect, at: .connect, "gone")
            case 4: throw LoadError(.serverNotTrusted, at: .serverTLS, "another")
            case 5: return Answer(404)
            default: return Answer(500)
            }
        }
        #expect(try await site.get() == "1")
        site.clock.pass(80)
        #expect(try await site.get() == "1")
        #expect(try await site.get() == "1")
        await #expect(throws: LoadError(.serverNotTrusted, "")) { try await site.get() }
        #expect(try await site.get() == "5")
    }

    @Test func rfc5861_s4_theQuestionWaitsForNoConnectionIfTheEntryMayAnswerWithoutOne() async throws {
        let site = try await Site { _, number throws(LoadError) in
            guard number == 1 else { throw LoadError(.cannotConnect, at: .connect, "gone") }
            return Answer(200, ["Cache-Control": "max-age=60, stale-if-error=100"])
        }
        var patient = try site.request()
        patient.options.waitsForConnectivity = true
        let request = patient
        _ = try await site.response(to: request).body.collect(upTo: .mebibytes(1))
        await site.cache.settle()
        site.clock.pass(80)
        #expect(try await site.response(to: request).body.collect(upTo: .mebibytes(1)) == Array("1".utf8))
        #expect(try site.count == 2 && site.last.options.waitsForConnectivity == false)
        site.clock.pass(100)
        await #expect(throws: LoadError(.cannotConnect, "")) { _ = try await site.response(to: request) }
        #expect(try site.count == 3 && site.last.options.waitsForConnectivity == true)
    }

    /// By its own fields the error may be stored: it would take the place of the entry that answers in its stead.
    @Test(arguments: ["ETag", "X-Other"])
    func rfc5861_s4_anErrorThatTheEntryHidesDoesNotReplaceIt(field: String) async throws {
        let site = try await Site { _, number in
            number == 1
                ? Answer(200, ["Cache-Control": "max-age=60, stale-if-error=100", field: "\"a\""])
                : Answer(503, ["Cache-Control": "max-age=60"])
        }
        #expect(try await site.get() == "1")
        site.clock.pass(80)
        for count in 2...3 {
            let answer = try await site.load()
            #expect(answer.head.status == .ok && answer.body == "1" && site.count == count)
        }
        site.clock.pass(100)
        #expect(try await site.load().head.status.code == 503)
    }

    @Test func rfc5861_s3_anErrorBehindDoesNotReplaceTheEntry() async throws {
        let site = try await Site { _, number in
            number == 1
                ? Answer(200, ["Cache-Control": "max-age=60, stale-while-revalidate=100"])
                : Answer(503, ["Cache-Control": "max-age=60"])
        }
        #expect(try await site.get() == "1")
        site.clock.pass(80)
        for count in 2...3 {
            #expect(try await site.get() == "1")
            #expect(try await eventually { site.count == count && site.cache.revalidations.count == 0 })
            await site.cache.settle()
        }
    }

    @Test func rfc5861_s4_theRequestMayAllowItToo() async throws {
        let site = try await Site { _, number in number == 1 ? .fresh(60) : Answer(502) }
        #expect(try await site.get() == "1")
        site.clock.pass(80)
        #expect(try await site.get("/", ["Cache-Control": "stale-if-error=20"]) == "1")
        #expect(try await site.load("/", ["Cache-Control": "stale-if-error=19"]).head.status.code == 502)
        #expect(try await site.load().head.status.code == 502)
    }

    @Test func rfc8246_immutableIsNotAskedWhileItIsFresh() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60, immutable"]))
        _ = try await site.get()
        #expect(try await site.get("/", ["Cache-Control": "max-age=0"]) == "1")
        #expect(try await site.get("/", policy: .reloadRevalidatingCacheData) == "1")
        #expect(try await site.get("/", ["Cache-Control": "no-cache"]) == "2")
        site.clock.pass(61)
        #expect(try await site.get() == "3")
    }

    // MARK: The app's settings

    @Test func requestCachePolicies() async throws {
        let site = try await Site(.fresh(60))
        await #expect(throws: LoadError(.notInCache, "")) { try await site.get("/", policy: .returnCacheDataDontLoad) }
        await #expect(throws: LoadError(.notInCache, "")) {
            try await site.get("/", method: .post, policy: .returnCacheDataDontLoad)
        }
        #expect(site.count == 0)
        #expect(try await site.get("/", policy: .returnCacheDataElseLoad) == "1")
        #expect(try await site.get("/", policy: .reloadIgnoringLocalCacheData) == "2")
        #expect(try site.last.headerFields[.cacheControl] == nil)
        #expect(try await site.get() == "2", "What was loaded anew is stored.")
        #expect(try await site.get("/", policy: .reloadIgnoringLocalAndRemoteCacheData) == "3")
        #expect(
            try site.last.headerFields[.cacheControl] == "no-cache"
                && site.last.headerFields[.custom("Pragma")] == "no-cache")
        #expect(try await site.get("/", policy: .reloadRevalidatingCacheData) == "4")
        site.clock.pass(1000)
        #expect(try await site.get("/", policy: .returnCacheDataElseLoad) == "4")
        #expect(try await site.get("/", policy: .returnCacheDataDontLoad) == "4")
        #expect(try await site.get("/", policy: .useProtocolCachePolicy) == "5")
    }

    @Test func maxCacheFileAgeCountsWhereItIsShorter() async throws {
        let site = try await Site(.fresh(60))
        site.cache.maxCacheFileAge = .seconds(10)
        _ = try await site.get()
        site.clock.pass(9)
        #expect(try await site.get() == "1")
        site.clock.pass(1)
        #expect(try await site.get() == "2")
        site.cache.maxCacheFileAge = .seconds(1000)
        site.clock.pass(59)
        #expect(try await site.get() == "2")
        site.clock.pass(1)
        #expect(try await site.get() == "3")
    }

    @Test func aFileSizeOfZeroSwitchesOff() async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        site.cache.maxCacheFileSize = 0
        #expect(try await site.get() == "2")
        await #expect(throws: LoadError(.notInCache, "")) { try await site.get("/", policy: .returnCacheDataDontLoad) }
        site.cache.maxCacheFileSize = 1000
        #expect(try await site.get() == "1")
        #expect(site.cache.memoryCapacity == 0)
    }

    // MARK: The gate

    @Test func theGateIsAskedBeforeAHit() async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        site.gate.route(.deny)
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await site.get() }
        site.gate.route(.direct)
        site.gate.deny(AccessDenied(.notAuthorized))
        await #expect(throws: LoadError(.notAuthorized, "")) { try await site.get() }
        site.gate.deny(AccessDenied(.withdrawn, code: .blocked))
        await #expect(throws: LoadError(.withdrawn, "")) { try await site.get() }
        await #expect(throws: AccessDenied.self) { try await site.cache.removeAll() }
        await #expect(throws: AccessDenied.self) { try await site.cache.remove(host: Host("a.example")) }
        site.gate.deny(nil)
        #expect(try await site.get() == "1")
    }

    @Test func anEntryServesItsKindOfRouteOnly() async throws {
        let site = try await Site(.fresh())
        #expect(try await site.get() == "1")
        site.gate.route(.relay)
        #expect(try await site.get() == "2")
        #expect(try await site.get() == "2")
        site.gate.route(.relay(cluster: "b"))
        #expect(try await site.get() == "2")
        site.gate.route(.direct)
        #expect(try await site.get() == "3")
    }

    @Test func nothingIsWrittenAfterAWithdrawal() async throws {
        let site = try await Site(.fresh())
        let response = try await site.response(to: site.request())
        site.gate.deny(AccessDenied(.withdrawn, code: .blocked))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
    }
}
