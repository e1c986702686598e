import Testing

@testable import SallyportCore

@Suite struct HostTests {
    @Test(arguments: [
        ("example.com", "example.com"), ("EXAMPLE.Com", "example.com"), ("example.com.", "example.com"),
        ("%6cocalhost", "localhost"), ("%6C%6f%63alhost", "localhost"), ("localhost", "localhost"),
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example", "xn--bcher-kva.example"),
        ("b%C3%BCcher.example", "xn--bcher-kva.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("faß.example", "xn--fa-hia.example"),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"), ("_dmarc.example", "_dmarc.example"), ("a-b.example", "a-b.example"),
        ("ｅｘａｍｐｌｅ.com", "example.com"), ("1.example", "1.example"), ("0x.example", "0x.example"),
        ("a\u{ad}b.example", "ab.example"),
    ])
    func namesHaveOneSpelling(_ text: String, _ expected: String) throws {
        #expect(try Host(text) == .name(expected))
        #expect(try Host(text).description == expected)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0X7F.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"), ("1.2.3", "1.2.0.3"),
        ("1.2.3.", "1.2.0.3"),
        ("%31%32%37.0.0.1", "127.0.0.1"), ("１２７.0.0.1", "127.0.0.1"), ("127。0。0。1", "127.0.0.1"),
        ("0", "0.0.0.0"), ("4294967295", "255.255.255.255"), ("0x", "0.0.0.0"), ("192.168.257", "192.168.1.1"),
    ])
    func everySpellingOfAnIPv4NumberIsFourNumbers(_ text: String, _ expected: String) throws {
        let host = try Host(text)
        #expect(host.description == expected)
        #expect(host == (try Host(expected)))
        guard case .address(.v4) = host else {
            Issue.record("\(text) is not an address")
            return
        }
    }

    @Test(arguments: [
        ("[::1]", "::1"), ("::1", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"), ("[2001:DB8::A]", "2001:db8::a"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"), ("[2001:db8:0:0:1:0:0:1]", "2001:db8::1:0:0:1"), ("[::]", "::"),
    ])
    func ipv6HasOneSpelling(_ text: String, _ expected: String) throws {
        let host = try Host(text)
        #expect(host.bareText == expected)
        #expect(host.description == "[\(expected)]")
        #expect(try Host(host.description) == host)
    }

    @Test(arguments: [
        "", ".", "..", "a..b", ".example", "a b", "a/b", "a?b", "a#b", "a@b", "a\\b", "a:b", "a\0b", "%", "%4", "%zz",
        "%00", "%2525", "%ff", "-a.example", "a-.example", "a%20b", "a%2fb", "a%3Ab", "256.0.0.1", "1.2.3.4.5",
        "1.2.3.08", "4294967296", "0x100000000", "1.2.3.256", "foo.1", "foo.0x1", "1..2", "[::1", "::1]", "[]",
        "[1.2.3.4]", "[::1%25eth0]", "fe80::1%eth0", "[v1.x]", "[::g]", "[::1]x", "1:2", "a\u{202e}b.example",
        "ex\u{2024}ample", "xn--", "a\nb", "\u{ad}", String(repeating: "a", count: 64) + ".example",
        String(repeating: "a.", count: 127) + "ab", String(repeating: "a", count: 2000),
        "99999999999999999999999999", "0x99999999999999999999", "%E2%80%AE",
    ])
    func garbageIsRefused(_ text: String) {
        #expect(throws: AddressError(.invalidHost, "")) { try Host(text) }
    }

    @Test func theLongestNamesAreTaken() throws {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(longest.utf8.count == 253)
        #expect(try Host(longest) == .name(longest))
        #expect(throws: AddressError.self) { try Host(longest + "b") }
    }

    /// The quick path for plain names and the rules must agree; `X` in place of `x` takes the slow one.
    @Test func theQuickPathAgreesWithTheRules() {
        var generator = SeededGenerator(seed: 11)
        let pieces = ["x", "a", "-", ".", "0", "9", "_", "0x", "xn--", "com"]
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 8, of: pieces).filter { $0.isASCII }
            let quick = try? Host(text)
            let slow = try? Host(text.uppercased())
            guard text == text.lowercased() else { continue }
            #expect(quick == slow, "\(text)")
        }
    }

    /// A percent-encoded byte takes the slow path.
    @Test func theQuickPathForAddressesAgreesWithTheRules() {
        var generator = SeededGenerator(seed: 12)
        let pieces = ["0", "1", "9", "25", "255", "256", "00", ".", ".", ".", ".", "x"]
        var addresses = 0
        for _ in 0..<20_000 {
            let text = generator.text(upTo: 9, of: pieces).filter { "0123456789.abcdefx".contains($0) }
            guard let first = text.utf8.first else { continue }
            let quick = try? Host(text)
            #expect(quick == (try? Host("%\(String(first, radix: 16))\(text.dropFirst())")), "\(text)")
            if case .address = quick { addresses += 1 }
        }
        #expect(addresses > 100)
    }

    @Test func randomTextEndsInACanonicalHostOrAnError() {
        var generator = SeededGenerator(seed: 1)
        let pieces = ["a", "xn--", ".", "-", "0x", "127", "[", "]", ":", "%2e", "%", "ü", "。", "\0", "1", "//", "@"]
        var taken = 0
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 12, of: pieces)
            guard let host = try? Host(text) else { continue }
            taken += 1
            #expect(host.description.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"/?#@\\%".utf8.contains($0) })
            #expect((try? Host(host.description)) == host, "\(text)")
        }
        #expect(taken > 100)
    }
}
