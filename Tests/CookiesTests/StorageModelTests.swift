import SallyportCore
import Testing

@testable import SallyportCookies

/// RFC 6265bis §5.7, step by step, and §5.1.3, §5.1.4, §5.5.
@Suite struct StorageModelTests {
    private static let site = "https://www.example.com/dir/page"

    private func refusal(_ field: String, by url: String = site, from document: String? = nil) throws -> CookieRefusal?
    {
        var jar = TestJar()
        return try jar.set(field, by: url, from: document)
    }

    @Test func step2_neitherNameNorValueIsNothing() throws {
        #expect(try refusal("=") == .empty)
        #expect(try refusal("") == .empty)
        #expect(try refusal("a=") == nil)
    }

    // MARK: Lifetime

    @Test func step6_maxAgeGoesBeforeExpires() throws {
        var jar = TestJar()
        try jar.set("a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", by: Self.site)
        try jar.set("b=2; Expires=1 Jan 2090 00:00:00; Max-Age=20", by: Self.site)
        try jar.set("c=3; Expires=Thu, 01 Jan 1970 00:00:00 GMT", by: Self.site)
        try jar.set("d=4", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "a=1; b=2; d=4")
        jar.now += 10_000
        #expect(try jar.sent(to: Self.site) == "b=2; d=4")
        jar.now += 10_000
        #expect(try jar.sent(to: Self.site) == "d=4")
    }

    @Test(arguments: ["Max-Age=99999999999999", "Expires=31 Dec 9999 23:59:59", "Max-Age=34560001"])
    func section5_5_nothingLivesLongerThan400Days(_ attribute: String) throws {
        var jar = TestJar()
        try jar.set("a=b; \(attribute)", by: Self.site)
        let cookie = try #require(jar.table.all(of: .instance, at: jar.now).first)
        #expect(cookie.expiry == jar.now + 400 * 86_400_000)
    }

    @Test func anExpiredCookieRemovesWhatItWouldReplace() throws {
        var jar = TestJar()
        try jar.set("a=1; Max-Age=100", by: Self.site)
        try jar.set("a=; Max-Age=0", by: Self.site)
        #expect(jar.table.count == 0)
        #expect(jar.effects.count == 2)
        try jar.set("b=; Max-Age=-1", by: Self.site)
        #expect(jar.table.count == 0 && jar.effects.count == 2)
    }

    @Test func expiredCookiesAreEvicted() throws {
        var jar = TestJar()
        for number in 0..<100 {
            try jar.set("a=b; Max-Age=1", by: "https://h\(number).example.com/")
        }
        jar.now += 1000
        #expect(jar.table.count == 100)
        #expect(try jar.sent(to: "https://h1.example.com/") == nil)
        #expect(jar.table.count == 0)
    }

    // MARK: Domains

    @Test(arguments: [
        ("", nil), ("Domain=www.example.com", nil), ("Domain=.example.com", nil), ("Domain=EXAMPLE.com", nil),
        ("Domain=", nil), ("Domain=other.com", CookieRefusal.otherDomain), ("Domain=ww.example.com", .otherDomain),
        ("Domain=a.www.example.com", .otherDomain), ("Domain=ample.com", .otherDomain),
        ("Domain=example.com.", .otherDomain), ("Domain=w.example.com", .otherDomain), ("Domain=com", .publicSuffix),
        ("Domain=.com", .publicSuffix), ("Domain=..example.com", .otherDomain), ("Domain=exämple.com", .invalidDomain),
    ])
    func steps7To10_theDomainIsTheHostsOrAboveIt(_ attribute: String, _ expected: CookieRefusal?) throws {
        #expect(try refusal("a=b; \(attribute)") == expected)
    }

    @Test(arguments: [
        ("https://a.co.uk/", "co.uk"), ("https://me.github.io/", "github.io"), ("https://host.corp/", "corp"),
        ("https://a.xn--55qx5d.cn/", "xn--55qx5d.cn"), ("https://x.y.ck/", "y.ck"),
    ])
    func step9_aPublicSuffixSharesNothing(_ url: String, _ suffix: String) throws {
        #expect(try refusal("a=b; Domain=\(suffix)", by: url) == .publicSuffix)
    }

    @Test func step9_aPublicSuffixItselfGetsAHostCookie() throws {
        var jar = TestJar()
        #expect(try jar.set("a=b; Domain=github.io", by: "https://github.io/") == nil)
        #expect(try jar.sent(to: "https://github.io/") == "a=b")
        #expect(try jar.sent(to: "https://me.github.io/") == nil)
        #expect(try jar.set("a=b; Domain=localhost", by: "https://localhost/") == nil)
    }

    @Test func step10_withoutADomainTheCookieIsOfTheHostAlone() throws {
        var jar = TestJar()
        try jar.set("host=1", by: Self.site)
        try jar.set("empty=2; Domain=", by: Self.site)
        try jar.set("domain=3; Domain=example.com", by: Self.site)
        try jar.set("own=4; Domain=www.example.com", by: Self.site)
        #expect(try jar.sent(to: "https://www.example.com/dir/") == "host=1; empty=2; domain=3; own=4")
        #expect(try jar.sent(to: "https://a.www.example.com/dir/") == "domain=3; own=4")
        #expect(try jar.sent(to: "https://example.com/dir/") == "domain=3")
        #expect(try jar.sent(to: "https://notexample.com/dir/") == nil)
        #expect(try jar.sent(to: "https://www.example.com.evil.test/dir/") == nil)
    }

    @Test(arguments: [
        ("https://127.0.0.1/", "127.0.0.1", nil), ("https://127.0.0.1/", "0.0.1", CookieRefusal.otherDomain),
        ("https://127.0.0.1/", "1", .otherDomain), ("https://[::1]/", "::1", nil),
        ("https://[::1]/", "1", .otherDomain),
    ])
    func section5_1_3_anAddressMatchesItselfOnly(_ url: String, _ domain: String, _ expected: CookieRefusal?) throws {
        #expect(try refusal("a=b; Domain=\(domain)", by: url) == expected)
        var jar = TestJar()
        try jar.set("a=b", by: url)
        #expect(try jar.sent(to: url) == "a=b")
        #expect(try jar.sent(to: "https://127.0.0.2/") == nil)
    }

    @Test func section5_1_2_everySpellingOfAHostIsOneHost() throws {
        var jar = TestJar()
        try jar.set("a=1; Domain=xn--bcher-kva.example", by: "https://www.BÜCHER.example/")
        #expect(try jar.sent(to: "https://xn--bcher-kva.example/") == "a=1")
        try jar.set("b=2", by: "https://0x7f.1/")
        #expect(try jar.sent(to: "https://127.0.0.1/") == "b=2")
        try jar.set("c=3", by: "https://host.example./")
        #expect(try jar.sent(to: "https://host.example/") == "c=3")
    }

    @Test func section8_5_portsShareCookies() throws {
        var jar = TestJar()
        try jar.set("a=1", by: "https://www.example.com:8443/")
        #expect(try jar.sent(to: "https://www.example.com/") == "a=1")
    }

    // MARK: Paths

    @Test(arguments: [
        ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("/a//b", "/a/"), ("", "/"),
        ("a/b", "/"),
    ])
    func section5_1_4_theDefaultPathIsUpToTheLastSlash(_ request: String, _ expected: String) {
        #expect(CookiePath.default(of: request) == Array(expected.utf8))
    }

    @Test func section5_3_aDefaultPathThatIsTooLongIsIgnored() throws {
        let path = "/" + String(repeating: "p", count: 4095)
        #expect(try refusal("a=b", by: "https://www.example.com\(path)/x") == nil)
        #expect(try refusal("a=b", by: "https://www.example.com\(path)p/x") == .tooLong)
        #expect(try refusal("a=b; Path=/", by: "https://www.example.com\(path)p/x") == nil)
    }

    @Test(arguments: [
        ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true), ("/ab", "/a", false), ("/a/b", "/a/", true),
        ("/a", "/a/", false), ("/", "/", true), ("/anything", "/", true), ("/A", "/a", false), ("/a%2Fb", "/a", false),
    ])
    func section5_1_4_pathsMatchAtSlashes(_ request: String, _ cookie: String, _ expected: Bool) {
        #expect(CookiePath.matches(request.utf8, Array(cookie.utf8)) == expected)
    }

    @Test func step11_aCookieGoesToItsPathOnly() throws {
        var jar = TestJar()
        try jar.set("default=1", by: Self.site)
        try jar.set("root=2; Path=/", by: Self.site)
        try jar.set("other=3; Path=/other", by: Self.site)
        try jar.set("relative=4; Path=other", by: Self.site)
        #expect(try jar.sent(to: "https://www.example.com/dir/x?/other") == "default=1; relative=4; root=2")
        #expect(try jar.sent(to: "https://www.example.com/other/x") == "other=3; root=2")
        #expect(try jar.sent(to: "https://www.example.com/directory") == "root=2")
    }

    // MARK: Secure

    @Test func step13_secureComesOverASecureConnectionOnly() throws {
        #expect(try refusal("a=b; Secure", by: "http://www.example.com/") == .insecure)
        #expect(try refusal("a=b; Secure", by: "http://localhost/") == .insecure)
        #expect(try refusal("a=b; Secure") == nil)
    }

    @Test func section5_8_3_secureGoesOverASecureConnectionOnly() throws {
        var jar = TestJar()
        try jar.set("a=1; Secure; Path=/", by: Self.site)
        try jar.set("b=2; Path=/", by: Self.site)
        #expect(try jar.sent(to: "http://www.example.com/") == "b=2")
        #expect(try jar.sent(to: "https://www.example.com/") == "a=1; b=2")
    }

    @Test func step16_secureCookiesAreLeftAlone() throws {
        var jar = TestJar()
        try jar.set("a=1; Secure; Path=/login; Domain=example.com", by: "https://www.example.com/login")
        let insecure = "http://www.example.com/login/x"
        #expect(try jar.set("a=2; Path=/login", by: insecure) == .overSecure)
        #expect(try jar.set("a=2; Path=/login/en", by: insecure) == .overSecure)
        #expect(try jar.set("a=2; Path=/login/en; Domain=example.com", by: insecure) == .overSecure)
        #expect(try jar.set("a=2; Path=/login", by: "http://example.com/") == .overSecure)
        #expect(try jar.set("a=2; Path=/login", by: "http://b.www.example.com/") == .overSecure)
        #expect(try jar.set("a=2; Path=/", by: insecure) == nil)
        #expect(try jar.set("a=2; Path=/log", by: insecure) == nil)
        #expect(try jar.set("b=2; Path=/login", by: insecure) == nil)
        #expect(try jar.set("a=2; Path=/login", by: "http://example.org/") == nil)
        #expect(try jar.set("a=3; Path=/login; Domain=example.com", by: "https://www.example.com/") == nil)
        #expect(try jar.sent(to: "https://www.example.com/login") == "a=3; b=2; a=2")
    }

    // MARK: SameSite

    @Test func step18_fromAnotherSiteOnlyNoneIsTaken() throws {
        let document = "https://news.test/"
        #expect(try refusal("a=b", from: document) == .crossSite)
        #expect(try refusal("a=b; SameSite=Lax", from: document) == .crossSite)
        #expect(try refusal("a=b; SameSite=Strict", from: document) == .crossSite)
        #expect(try refusal("a=b; SameSite=None; Secure", from: document) == nil)
        #expect(try refusal("a=b; SameSite=Strict", from: "https://api.example.com/") == nil)
        #expect(try refusal("a=b; SameSite=Strict") == nil)
    }

    @Test func step19_noneIsSecure() throws {
        #expect(try refusal("a=b; SameSite=None") == .noneWithoutSecure)
        #expect(try refusal("a=b; SameSite=None", by: "http://www.example.com/") == .noneWithoutSecure)
    }

    @Test func section5_8_3_toAnotherSiteOnlyNoneGoes() throws {
        var jar = TestJar()
        try jar.set("default=1", by: Self.site)
        try jar.set("lax=2; SameSite=Lax", by: Self.site)
        try jar.set("strict=3; SameSite=Strict", by: Self.site)
        try jar.set("none=4; SameSite=None; Secure", by: Self.site)
        #expect(try jar.sent(to: Self.site, from: "https://news.test/") == "none=4")
        #expect(try jar.sent(to: Self.site, from: "http://www.example.com/") == "none=4", "sites have a scheme")
        let all = "default=1; lax=2; strict=3; none=4"
        #expect(try jar.sent(to: Self.site, from: "https://api.example.com:8443/x") == all)
        #expect(try jar.sent(to: Self.site) == all)
    }

    @Test(arguments: [
        ("https://a.example.com/", "https://b.example.com:1/", true), ("https://a.co.uk/", "https://b.co.uk/", false),
        ("https://a.github.io/", "https://b.github.io/", false),
        ("https://a.github.io/", "https://a.github.io/x", true),
        ("https://127.0.0.1/", "https://127.0.0.1:2/", true), ("https://127.0.0.1/", "https://127.0.0.2/", false),
        ("http://a.example.com/", "https://a.example.com/", false),
        ("https://localhost/", "https://localhost:2/", true),
        ("https://a.corp/", "https://b.corp/", false),
    ])
    func section5_2_aSiteIsSchemeAndRegistrableDomain(_ left: String, _ right: String, _ expected: Bool) throws {
        #expect(Site.isSame(try RequestURL(left), try RequestURL(right)) == expected)
    }

    // MARK: Prefixes

    @Test(arguments: [
        "__Secure-a=b; Domain=example.com", "__secure-a=b", "__SECURE-a=b", "__Host-a=b", "__host-a=b; Secure",
        "__host-a=b; Domain=www.example.com", "__HOST-a=b; Domain=example.com; Path=/",
        "__Host-a=b; Secure; Domain=www.example.com; Path=/", "__Host-a=b; Secure; Path=/dir", "__Host-a=b; Path=/",
        "__Http-a=b; Secure", "__http-a=b; HttpOnly", "__Host-Http-a=b; Secure; Path=/",
        "__Host-Http-a=b; Secure; HttpOnly", "__host-http-a=b; Secure; HttpOnly; Path=/; Domain=example.com",
        "=__Secure-a=b; Secure", "=__host-a; Secure; Path=/", "__Host-a; Secure; Path=/", "=__http-a; Secure; HttpOnly",
    ])
    func steps20To22_aPrefixPromises(_ field: String) throws { #expect(try refusal(field) == .prefix) }

    @Test(arguments: [
        "__Secure-a=b; Secure; Domain=example.com", "__SECURE-a=b; Secure", "__Host-a=b; Secure; Path=/",
        "__host-a=b; Secure; Path=/", "__Http-a=b; Secure; HttpOnly", "__Host-Http-a=b; Secure; HttpOnly; Path=/",
        "__Secur-a=b", "_Host-a=b", "a__Host-=b", "=__Secur",
    ])
    func steps20To22_aPromiseThatHoldsIsTaken(_ field: String) throws { #expect(try refusal(field) == nil) }

    @Test func step21_hostNeedsAPathAttributeAlsoAtTheRoot() throws {
        #expect(try refusal("__Host-a=b; Secure", by: "https://www.example.com/") == .prefix)
        #expect(try refusal("__Host-a=b; Secure; Path", by: "https://www.example.com/") == nil)
    }

    // MARK: Replacing

    @Test func step23_aReplacedCookieKeepsItsPlaceInTheOrder() throws {
        var jar = TestJar()
        try jar.set("a=1", by: Self.site)
        jar.now += 5000
        try jar.set("b=2", by: Self.site)
        jar.now += 5000
        try jar.set("a=3", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "a=3; b=2")
        let first = try #require(jar.table.all(of: .instance, at: jar.now).first)
        #expect(first.created == jar.now - 10_000)
    }

    @Test func step23_sameMeansNameDomainHostOnlyAndPath() throws {
        var jar = TestJar()
        for field in ["a=1", "a=2; Path=/", "a=3; Domain=www.example.com", "a=4; Domain=example.com", "A=5"] {
            try jar.set(field, by: Self.site)
        }
        #expect(jar.table.count == 5)
        for field in ["a=1", "a=2; Path=/", "a=3; Domain=www.example.com", "a=4; Domain=example.com", "A=5"] {
            try jar.set(field, by: Self.site)
        }
        #expect(jar.table.count == 5)
    }

    @Test func aClockThatIsTurnedBackChangesNoOrder() throws {
        var jar = TestJar()
        try jar.set("a=1; Max-Age=3600", by: Self.site)
        jar.now -= 86_400_000
        try jar.set("b=2", by: Self.site)
        jar.now -= 86_400_000
        try jar.set("c=3", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "a=1; b=2; c=3")
    }
}
