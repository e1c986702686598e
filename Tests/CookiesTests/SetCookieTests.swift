import Testing

@testable import SallyportCookies

/// RFC 6265bis §5.6: parsing a field, before the rules are applied.
@Suite struct SetCookieTests {
    private func read(_ field: String) throws -> SetCookie { try SetCookie(Array(field.utf8)) }

    private func pair(_ field: String) throws -> [String] {
        let cookie = try read(field)
        return [cookie.name, cookie.value].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("a=b", ["a", "b"]), ("a=b; Path=/", ["a", "b"]), (" a = b ", ["a", "b"]), ("\ta\t=\tb\t", ["a", "b"]),
        ("a", ["", "a"]), ("=a", ["", "a"]), ("=a=b", ["", "a=b"]), ("a=b=c", ["a", "b=c"]), ("a=", ["a", ""]),
        ("a=\"b\"", ["a", "\"b\""]), ("a=b c", ["a", "b c"]), ("a b=c", ["a b", "c"]), ("a=%3b", ["a", "%3b"]),
        ("a=b, c=d", ["a", "b, c=d"]), (";a=b", ["", ""]), ("", ["", ""]), ("=", ["", ""]), ("a=ü", ["a", "ü"]),
    ])
    func section5_6_nameAndValueStandBeforeTheFirstSemicolon(_ field: String, _ expected: [String]) throws {
        #expect(try pair(field) == expected)
    }

    @Test func section5_6_step1_aControlAnywhereEndsIt() {
        for byte in UInt8.min...UInt8.max {
            let fields = [[97, byte, 61, 98], [97, 61, byte, 98], Array("a=b; Path=/".utf8) + [byte]]
            let isControl = byte < 0x20 && byte != 9 || byte == 0x7f
            for field in fields {
                #expect((refusal(field) != nil) == isControl, "\(byte)")
            }
        }
    }

    private func refusal(_ field: [UInt8]) -> CookieRefusal? {
        do throws(CookieRefusal) {
            _ = try SetCookie(field)
            return nil
        } catch {
            return error
        }
    }

    @Test func section5_6_step5_nameAndValueHave4096BytesAtMost() throws {
        let value = String(repeating: "v", count: 4095)
        #expect(try pair("n=\(value)")[1].count == 4095)
        #expect(throws: CookieRefusal.tooLong) { try read("n=\(value)v") }
        #expect(throws: CookieRefusal.tooLong) { try read("\(value)vv=") }
        #expect(try pair("n=\(value); Comment=\(value)")[1].count == 4095)
    }

    @Test func section5_6_anAttributeHas1024BytesAtMost() throws {
        let path = "/" + String(repeating: "p", count: 1023)
        #expect(try read("a=b; Path=\(path)").path == .given(Array(path.utf8)))
        #expect(try read("a=b; Path=\(path)p").path == nil)
        #expect(try read("a=b; Path=/x; Path=\(path)p").path == .given(Array("/x".utf8)))
        let domain = String(repeating: "d", count: 1025)
        #expect(try read("a=b; Domain=example.com; Domain=\(domain)").domain == Array("example.com".utf8))
    }

    @Test func section5_6_namesOfAttributesHaveNoCaseAndUnknownOnesAreIgnored() throws {
        let cookie = try read("a=b; sEcUrE; HTTPONLY;;  ; pAtH = /x ; Partitioned; Foo=bar; =; SAMESITE=lAX")
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.path == .given(Array("/x".utf8)))
        #expect(cookie.sameSite == .lax)
    }

    @Test(
        arguments: [
            ("Max-Age=10", 10), ("Max-Age=0", 0), ("Max-Age=-1", 0), ("Max-Age=010", 10), ("max-age= 7 ", 7),
            ("Max-Age=", nil), ("Max-Age=+1", nil), ("Max-Age=1.5", nil), ("Max-Age=1x", nil), ("Max-Age=-", nil),
            ("Max-Age=\"1\"", nil), ("Max-Age=5; Max-Age=x", 5), ("Max-Age=5; Max-Age=6", 6),
            ("Max-Age=99999999999999999999999999", 1 << 40), ("Max-Age=-99999999999999999999999999", 0),
        ] as [(String, Int64?)])
    func section5_6_2_maxAgeIsDigits(_ attribute: String, _ expected: Int64?) throws {
        #expect(try read("a=b; \(attribute)").maxAge == expected)
    }

    @Test(arguments: [
        ("Domain=Example.COM", "example.com"), ("Domain=.example.com", "example.com"), ("Domain=", ""),
        ("Domain", ""), ("Domain=..example.com", ".example.com"), ("Domain=a; Domain=b", "b"),
        ("Domain=a; Domain=", ""),
    ])
    func section5_6_3_theLastDomainCountsWithoutItsDot(_ attribute: String, _ expected: String) throws {
        #expect(try read("a=b; \(attribute)").domain == Array(expected.utf8))
    }

    @Test(arguments: [
        ("Path=/x", SetCookie.Path.given(Array("/x".utf8))), ("Path=x", .ofRequest), ("Path=", .ofRequest),
        ("Path", .ofRequest), ("Path=/x; Path=", .ofRequest), ("Path=/x; Path=/y", .given(Array("/y".utf8))),
        ("Path=\"/x\"", .ofRequest),
    ])
    func section5_6_4_aPathBeginsWithASlash(_ attribute: String, _ expected: SetCookie.Path) throws {
        #expect(try read("a=b; \(attribute)").path == expected)
    }

    @Test func section5_6_4_noPathIsNone() throws { #expect(try read("a=b").path == nil) }

    @Test(arguments: [
        ("SameSite=None", SameSite.none), ("SameSite=Strict", .strict), ("SameSite=lax", .lax), ("SameSite", .default),
        ("SameSite=Foo", .default), ("SameSite=Strict; SameSite=Foo", .default), ("Secure", .default),
    ])
    func section5_6_7_sameSiteIsOneOfThree(_ attribute: String, _ expected: SameSite) throws {
        #expect(try read("a=b; \(attribute)").sameSite == expected)
    }

    @Test func section5_6_1_aDateThatCannotBeReadIsIgnored() throws {
        #expect(try read("a=b; Expires=1 Jan 2030 00:00:00; Expires=never").expires == 1_893_456_000_000)
        #expect(try read("a=b; Expires=never").expires == nil)
    }
}
