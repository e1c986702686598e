import SallyportCore
import Testing

@testable import SallyportCookies

/// RFC 6265bis §5.8.3 and §6.1: what is sent in which order, and what is evicted.
@Suite struct RetrievalTests {
    private static let site = "https://www.example.com/a/b/c"

    @Test func step4_longerPathsGoFirstThenOlderCookies() throws {
        var jar = TestJar()
        try jar.set("root1=1; Path=/", by: Self.site)
        try jar.set("ab1=2; Path=/a/b; Domain=example.com", by: Self.site)
        try jar.set("a1=3; Path=/a", by: Self.site)
        try jar.set("ab2=4; Path=/a/b", by: Self.site)
        try jar.set("root2=5; Path=/; Domain=example.com", by: Self.site)
        try jar.set("ab3=6; Path=/a/b; Domain=example.com", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "ab1=2; ab2=4; ab3=6; a1=3; root1=1; root2=5")
    }

    @Test func step6_aCookieWithoutANameIsItsValue() throws {
        #expect(try TestJar.echo("=value") == "value")
        #expect(try TestJar.echo("value") == "value")
        #expect(try TestJar.echo("name=") == "name=")
        #expect(try TestJar.echo("a=1", "alone", "b=2") == "a=1; alone; b=2")
        #expect(try TestJar.echo("one", "two") == "two")
    }

    @Test func bytesAreSentBackUnchanged() throws {
        var jar = TestJar()
        let field: [UInt8] = [0x61, 0x3d, 0xff, 0xfe, 0x22, 0x2c, 0x20, 0xc3]
        #expect(try jar.set(field, by: Self.site) == nil)
        let request = try CookieRequest.to(Self.site)
        #expect(jar.table.field(for: request, of: .instance, now: { 0 }, &jar.effects) == field)
    }

    @Test func step5_aUseIsNotedAndToldOnceADay() throws {
        var jar = TestJar()
        try jar.set("a=1; Max-Age=10000000", by: Self.site)
        try jar.set("session=1", by: Self.site)
        jar.effects = []
        jar.now += 86_399_999
        _ = try jar.sent(to: Self.site)
        #expect(jar.effects.isEmpty)
        #expect(jar.table.all(of: .instance, at: jar.now).allSatisfy { $0.accessed == jar.now })
        jar.now += 1
        _ = try jar.sent(to: Self.site)
        _ = try jar.sent(to: Self.site)
        #expect(jar.effects.count == 1)
    }

    @Test func principalsShareNothing() throws {
        var jar = TestJar()
        try jar.set("a=1", by: Self.site)
        jar.principal = Principal("ann")
        #expect(try jar.sent(to: Self.site) == nil)
        try jar.set("a=2", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "a=2")
        jar.principal = .instance
        #expect(try jar.sent(to: Self.site) == "a=1")
    }

    // MARK: Limits

    @Test func aDomainHas180CookiesAndLosesTheLeastLatelyUsed() throws {
        var jar = TestJar()
        for number in 0..<180 { try jar.set("n\(number)=v; Path=/p\(number)", by: Self.site) }
        #expect(jar.table.count == 180)
        _ = try jar.sent(to: "https://www.example.com/p0")
        try jar.set("one=more", by: Self.site)
        #expect(jar.table.count == 180)
        #expect(try jar.sent(to: "https://www.example.com/p0") == "n0=v")
        #expect(try jar.sent(to: "https://www.example.com/p1") == nil)
        #expect(try jar.sent(to: "https://www.example.com/p2") == "n2=v")
    }

    @Test func section5_7_expiredCookiesGoFirstThenInsecureOnes() throws {
        var jar = TestJar()
        jar.table.limits.perDomain = 3
        try jar.set("secure=1; Secure", by: Self.site)
        try jar.set("old=2", by: Self.site)
        try jar.set("brief=3; Max-Age=1", by: Self.site)
        jar.now += 1000
        try jar.set("new=4", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "secure=1; old=2; new=4")
        try jar.set("newer=5; Secure", by: Self.site)
        #expect(try jar.sent(to: Self.site) == "secure=1; new=4; newer=5")
        try jar.set("newest=6; Secure", by: Self.site)
        try jar.set("insecure=7", by: Self.site)
        #expect(
            try jar.sent(to: Self.site) == "secure=1; newer=5; newest=6", "nothing insecure drives a secure one out")
    }

    @Test func aFullJarEvictsCookiesOfThePrincipalWithTheMost() throws {
        var jar = TestJar()
        jar.table.limits.inAll = 100
        jar.principal = Principal("quiet")
        for number in 0..<20 { try jar.set("a=b", by: "https://h\(number).example.com/") }
        jar.principal = Principal("flooded")
        for number in 0..<5000 {
            try jar.set("a=b", by: "https://h\(number).evil.example.org/")
            jar.table.removeExcess(at: jar.now, &jar.effects)
            #expect(jar.table.count <= 100)
        }
        #expect(jar.table.owners[Principal("quiet")]?.count == 20)
        #expect(try jar.sent(to: "https://h4999.evil.example.org/") == "a=b")
        #expect(try jar.sent(to: "https://h0.evil.example.org/") == nil)
    }

    @Test func tenThousandCookiesAreFoundByTheirHosts() throws {
        var jar = TestJar()
        for number in 0..<10_000 {
            try jar.set("n=\(number); Domain=d\(number).test", by: "https://w.d\(number).test/")
        }
        #expect(jar.table.count == 10_000)
        for number in stride(from: 0, to: 10_000, by: 97) {
            #expect(try jar.sent(to: "https://x.y.d\(number).test/") == "n=\(number)")
        }
        #expect(try jar.sent(to: "https://d10000.test/") == nil)
        jar.table.remove(of: nil, because: .removed, &jar.effects) { _ in true }
        #expect(jar.table.count == 0 && jar.table.owners.all.isEmpty)
    }

    @Test func overwrittenCookiesAreGone() throws {
        var jar = TestJar()
        try jar.set("name=value", by: Self.site)
        jar.principal = Principal("ann")
        try jar.set("name=value", by: Self.site)
        jar.table.overwrite()
        for principal in [Principal.instance, Principal("ann")] {
            #expect(jar.table.all(of: principal, at: jar.now).map(\.pair) == [[UInt8](repeating: 0, count: 10)])
        }
    }

    @Test func domainsWithoutCookiesAreForgotten() throws {
        var jar = TestJar()
        try jar.set("keep=1", by: "https://keep.test/")
        for number in 0..<3000 {
            try jar.set("a=b; Max-Age=9", by: "https://h\(number).test/")
            try jar.set("a=b; Max-Age=0", by: "https://h\(number).test/")
        }
        #expect(jar.table.owners[.instance]?.buckets.count ?? 0 < 200)
        #expect(try jar.sent(to: "https://keep.test/") == "keep=1")
    }
}
