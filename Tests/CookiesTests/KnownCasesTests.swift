import SallyportCore
import Testing

@testable import SallyportCookies

/// What browsers were found to do when RFC 6265 was written, case by case: fields that a server sets, and what it gets
/// back from the page that it leads to.
@Suite struct KnownCasesTests {
    private static let page = "https://home.example.org:8888/cookie-parser?0001"
    private static let result = "https://home.example.org:8888/cookie-parser-result?0001"

    private func echo(_ fields: [String], by page: String = page, to result: String = result) throws -> String? {
        var jar = TestJar()
        for field in fields { try jar.set(field, by: page) }
        return try jar.sent(to: result)
    }

    @Test(
        arguments: [
            (["foo=bar"], "foo=bar"), (["foo=bar; Expires=Fri, 07 Aug 2007 08:04:19 GMT"], nil),
            (
                ["foo=bar; Expires=Fri, 07 Aug 2007 08:04:19 GMT", "foo2=bar2; Expires=Fri, 07 Aug 2037 08:04:19 GMT"],
                "foo2=bar2"
            ),
            (["foo=bar; expires=Thu, 10 Apr 1980 16:33:12 GMT"], nil), (["foo=bar; max-age=-1"], nil),
            (["foo=bar; max-age=0"], nil), (["foo=bar; max-age="], "foo=bar"), (["foo=bar; max-age=\"10\""], "foo=bar"),
            (["foo=bar; max-age=-0"], nil), (["foo=bar; max-age=1;max-age=0"], nil),
            (["foo=bar; Expires=foo"], "foo=bar"),
            (["foo=bar; Secure; Max-Age=0; Max-Age=10"], "foo=bar"),
        ] as [([String], String?)])
    func lifetimes(_ fields: [String], _ expected: String?) throws { #expect(try echo(fields) == expected) }

    @Test(arguments: [
        (["foo=bar, baz=qux"], "foo=bar, baz=qux"), (["foo=\"bar, baz=qux\""], "foo=\"bar, baz=qux\""),
        (["foo=bar; b,az=qux"], "foo=bar"), (["foo=bar; baz=q,ux"], "foo=bar"),
        (["foo=bar; Max-Age=50,399"], "foo=bar"),
        (["foo=bar; Expires=Fri, 07 Aug 2037 08:04:19 GMT"], "foo=bar"),
        (["foo=bar; Expires=Fri 07 Aug 2037 08:04:19 GMT, baz=qux"], "foo=bar"),
    ])
    func commas(_ fields: [String], _ expected: String?) throws { #expect(try echo(fields) == expected) }

    @Test(
        arguments: [
            (["a=bar"], "a=bar"), (["1=bar"], "1=bar"), (["=bar"], "bar"), (["==bar"], "=bar"), (["foo"], "foo"),
            (["foo", "bar"], "bar"), (["foo="], "foo="), (["foo= bar"], "foo=bar"), (["foo =bar"], "foo=bar"),
            (["$foo=bar"], "$foo=bar"), (["\tfoo\t=\tbar\t \t;\tttt"], "foo=bar"), (["foo=bar; baz"], "foo=bar"),
            (["\"foo=bar\""], "\"foo=bar\""), (["foo=\"bar"], "foo=\"bar"), (["foo=bar=baz"], "foo=bar=baz"),
            (["foo;bar=baz"], "foo"), (["f oo=bar"], "f oo=bar"), (["foo='bar'"], "foo='bar'"), ([" =bar"], "bar"),
            (["foo=\u{20ac}"], "foo=\u{20ac}"), (["foo=bar;"], "foo=bar"), ([";"], nil), (["; foo=bar"], nil),
            (["foo\\=bar"], "foo\\=bar"), (["a=\"b;c\"; d"], "a=\"b"),
        ] as [([String], String?)])
    func namesAndValues(_ fields: [String], _ expected: String?) throws { #expect(try echo(fields) == expected) }

    @Test(arguments: [
        ("foo=bar; domain=home.example.org", true), ("foo=bar; domain=.home.example.org", true),
        ("foo=bar; domain=HOME.example.org", true), ("foo=bar; domain=home.example.ORG", true),
        ("foo=bar; domain=.example.org", true), ("foo=bar; domain=example.org", true), ("foo=bar; domain=", true),
        ("foo=bar; domain", true), ("foo=bar; domain= ", true), ("foo=bar; domain=  .home.example.org", true),
        ("foo=bar; domain=. home.example.org", false), ("foo=bar; domain=.home.example.org.", false),
        ("foo=bar; domain=..home.example.org", false), ("foo=bar; domain=org", false), ("foo=bar; domain=.org", false),
        ("foo=bar; domain=sibling.example.org", false), ("foo=bar; domain=site.home.example.org", false),
        ("foo=bar; domain=ome.example.org", false), ("foo=bar; domain=home.example.org:8888", false),
        ("foo=bar; domain=https://home.example.org", false), ("foo=bar; domain=example.com", false),
        ("foo=bar; domain=example.com; domain=home.example.org", true),
        ("foo=bar; domain=home.example.org; domain=example.com", false),
        ("foo=bar; domain=\"home.example.org\"", false), ("foo=bar; domain=*.example.org", false),
    ])
    func domains(_ field: String, _ isKept: Bool) throws { #expect(try echo([field]) == (isKept ? "foo=bar" : nil)) }

    @Test(arguments: [
        ("foo=bar; path=/cookie-path/foo", "/cookie-path/foo", true),
        ("foo=bar; path=/cookie-path/foo", "/cookie-path/foo/", true),
        ("foo=bar; path=/cookie-path/foo", "/cookie-path/foobar", false),
        ("foo=bar; path=/cookie-path/foo/", "/cookie-path/foo", false),
        ("foo=bar; path=/cookie-path/foo/", "/cookie-path/foo/qux", true),
        ("foo=bar; path=/cookie-path/foo/qux", "/cookie-path/foo/qu", false),
        ("foo=bar; path=foo", "/cookie-path/foo", true), ("foo=bar; path=", "/anything", true),
        ("foo=bar; path=/; path=/cookie-path", "/other", false), ("foo=bar; path=\"/cookie-path\"", "/other", true),
        ("foo=bar; path=/cookie-path/./foo", "/cookie-path/foo", false),
        ("foo=bar; path=/foo%2Fbar", "/foo/bar", false),
        ("foo=bar; path=/foo%2Fbar", "/foo%2Fbar", true), ("foo=bar; path=/FOO", "/foo", false),
    ])
    func paths(_ field: String, _ path: String, _ isSent: Bool) throws {
        let sent = try echo([field], to: "https://home.example.org:8888\(path)")
        #expect(sent == (isSent ? "foo=bar" : nil))
    }

    @Test(arguments: [
        ("Secure", false), ("seCURe", false), ("\"Secure\"", true), ("Secure=", false), ("Secure=aaaa", false),
        ("Secure qux", true), ("Secure =aaaaa", false), ("Secure= aaaaa", false), ("Secure; qux", false),
        ("    Secure   ", false), ("=Secure", true), ("foo=Secure", true),
    ])
    func secure(_ attribute: String, _ goesOverPlainText: Bool) throws {
        let sent = try echo(["foo=bar; \(attribute)"], to: "http://home.example.org/cookie-parser-result")
        #expect(sent == (goesOverPlainText ? "foo=bar" : nil))
    }

    @Test func theOrderIsByPathThenByAge() throws {
        let fields = [
            "key=val0", "key=val1; path=/cookie-parser-result", "key=val2; path=/", "key=val3; path=/bar",
            "key=val4; domain=.example.org", "key=val5; domain=.example.org; path=/cookie-parser-result/foo",
        ]
        #expect(try echo(fields) == "key=val1; key=val2; key=val4")
        #expect(try echo(fields, to: "\(Self.result.dropLast(5))/foo/x") == "key=val5; key=val1; key=val2; key=val4")
    }

    @Test func manyCookiesAreOneField() throws {
        let fields = (0..<21).map { "foo\($0)=bar\($0)" }
        #expect(try echo(fields) == fields.joined(separator: "; "))
    }
}
