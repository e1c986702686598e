import HTTPTypes
import TestSupport
import Testing

@testable import SallyportCache

/// RFC 9111 §5.2, RFC 5861, RFC 8246.
@Suite struct CacheControlTests {
    private func read(_ lines: String...) -> CacheControl { CacheControl(lines) }

    @Test func everyDirectiveIsRead() {
        let response = read(
            "max-age=10, no-store, no-cache, must-revalidate, must-understand, public, private, immutable",
            "stale-while-revalidate=20, stale-if-error=30")
        #expect(response.maxAge == 10 && response.noStore && response.noCache && response.mustRevalidate)
        #expect(response.mustUnderstand && response.isPublic && response.isPrivate && response.isImmutable)
        #expect(response.staleWhileRevalidate == 20 && response.staleIfError == 30)
        let request = read("max-age=1, max-stale=2, min-fresh=3, no-cache, no-store, no-transform, only-if-cached")
        #expect(request.maxAge == 1 && request.maxStale == .seconds(2) && request.minFresh == 3)
        #expect(request.noCache && request.noStore && request.onlyIfCached)
        #expect(read("max-stale").maxStale == .any)
    }

    @Test func namesHaveNoCase() { #expect(read("Max-Age=5, NO-STORE") == read("max-age=5,no-store")) }

    /// §5.2: arguments come as tokens and as quoted strings.
    @Test func quotedArgumentsAreRead() {
        #expect(read("max-age=\"10\"").maxAge == 10)
        #expect(read("no-cache=\"set-cookie, x-a\"").noCacheFields == [.setCookie, .custom("X-A")])
        #expect(!read("no-cache=\"set-cookie\"").noCache)
        #expect(read("x=\"no-store, a\\\"b\", max-age=3") == read("max-age=3"))
    }

    /// §4.2.1: what is repeated counts by its strictest reading.
    @Test func theStrictestOfRepeatedDirectivesCounts() {
        #expect(read("max-age=100, max-age=5").maxAge == 5)
        #expect(read("max-age=5", "max-age=100").maxAge == 5)
        #expect(read("min-fresh=1, min-fresh=9").minFresh == 9)
        #expect(read("max-stale, max-stale=4").maxStale == .seconds(4))
        #expect(read("max-stale=4, max-stale").maxStale == .seconds(4))
        #expect(read("no-cache=\"a\", no-cache").noCache)
        #expect(read("stale-if-error=9, stale-if-error=3").staleIfError == 3)
    }

    @Test(arguments: ["max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=a", "max-age=1 2", "max-age=0x1"])
    func aMalformedAgeIsNone(_ text: String) { #expect(read(text).maxAge == 0) }

    @Test func malformedAllowancesAllowNothing() {
        #expect(read("max-stale=a").maxStale == .seconds(0))
        #expect(read("stale-while-revalidate=a, stale-if-error").staleWhileRevalidate == 0)
        #expect(read("stale-if-error=").staleIfError == 0)
        #expect(read("min-fresh=a").minFresh == CacheControl.longest)
        #expect(read("no-cache=\"a b c(\"").noCache)
        #expect(read("no-cache=\"\"").noCache)
    }

    /// §1.2.2
    @Test func numbersThatAreTooLargeAreTheLargest() {
        #expect(read("max-age=99999999999999999999999").maxAge == CacheControl.longest)
        #expect(read("max-age=2147483649").maxAge == 1 << 31)
    }

    /// §5.2.3: unknown directives, and those for other caches, say nothing.
    @Test func unknownDirectivesAreIgnored() {
        #expect(read("s-maxage=1, proxy-revalidate, no-transform, x=y, community=\"a,b\"") == CacheControl())
        #expect(read("", ",,, ,", "=", "=1", "\u{0}") == CacheControl())
    }

    /// The quick look says no more than the reading does.
    @Test func aPlainNoStoreIsForbidden() {
        for line in ["no-store", " No-Store ", "private, no-store", "no-store,max-age=0", "no-store, x=y"] {
            #expect(StorageRules.isForbidden(by: line) && read(line).noStore, "\(line)")
        }
        for line in ["", "max-age=1", "no-store=\"x\"", "x=\"a, no-store\"", "no-storex", "no-store, must-understand"] {
            #expect(!StorageRules.isForbidden(by: line), "\(line)")
        }
    }

    @Test func aQuoteWithoutEndHidesNothing() {
        #expect(read("x=\"a, no-store").noStore)
        #expect(read("x=\"a\\, no-store").noStore)
    }

    /// Reading is linear: a search for the end of each quote would take minutes.
    @Test func manyQuotesWithoutEndAreReadQuickly() {
        let start = processorTime()
        #expect(read("x=\"" + String(repeating: "\\\"", count: 30_000) + ", no-store").noStore)
        #expect(processorTime() - start < .seconds(5))
    }
}
