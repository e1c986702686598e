import SallyportCore
import Testing

@Suite struct RequestURLTests {
    @Test func partsAreRead() throws {
        let url = try RequestURL("HTTPS://Example.COM:8443/a/b?c=d&e#f")
        #expect(url.scheme == "https")
        #expect(url.endpoint == (try Endpoint("example.com:8443")))
        #expect(url.path == "/a/b" && url.query == "c=d&e" && url.fragment == "f")
        #expect(url.target == "/a/b?c=d&e")
        #expect(url.hostField == "example.com:8443")
        #expect(url.origin == "https://example.com:8443")
        #expect(url.absoluteText == "https://example.com:8443/a/b?c=d&e")
        #expect(url.description == "https://example.com:8443/a/b?c=d&e#f")
        #expect(url.redacted == "https://example.com:8443/a/b")
        #expect(url.isSecure)
    }

    @Test(arguments: [
        ("http://a.example", "http://a.example/"), ("http://a.example:80/", "http://a.example/"),
        ("https://a.example:443", "https://a.example/"), ("http://a.example:/x", "http://a.example/x"),
        ("http://a.example?q", "http://a.example/?q"), ("http://a.example#f", "http://a.example/"),
        ("http://a.example/%7ea", "http://a.example/%7ea"), ("http://a.example/ä", "http://a.example/%C3%A4"),
        ("http://a.example/a|b", "http://a.example/a%7Cb"), ("http://a.example/100%", "http://a.example/100%25"),
        ("http://a.example/a\\b", "http://a.example/a%5Cb"), ("http://a.example/a/../b", "http://a.example/b"),
        ("http://a.example/%2e%2E/b", "http://a.example/b"), ("http://a.example/a/.%2e/b", "http://a.example/b"),
        ("http://a.example/a/%2e", "http://a.example/a/"), ("http://a.example/...", "http://a.example/..."),
        ("http://a.example/../../x", "http://a.example/x"), ("http://[::1]:8080/", "http://[::1]:8080/"),
        ("  http://a.example/ \n", "http://a.example/"), ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://a.example/\u{301}x", "http://a.example/%CC%81x"), ("http://a.example/?a?b/", "http://a.example/?a?b/"),
    ])
    func urlsAreNormalized(_ text: String, _ expected: String) throws {
        #expect(try RequestURL(text).absoluteText == expected)
    }

    /// Every pair of these, each of which is written in one way: a text that is a part of another, and one that differs in
    /// a byte of each component.
    @Test func anotherURLsTextIsToldApart() throws {
        let texts = [
            "http://a.example/", "https://a.example/", "http://b.example/", "http://a.example:8080/",
            "http://a.example:808/", "http://a.example/x", "http://a.example/x?", "http://a.example/x?y",
            "http://a.example/x?z", "http://a.example/x/", "http://a.example/X", "http://[::1]/", "http://127.0.0.1/",
            "app:x", "app:y", "app://a/x",
        ]
        for text in texts {
            let url = try RequestURL("\(text)#f")
            #expect(url.absoluteText == text)
            for other in texts + ["", text + "#f", String(text.dropLast())] {
                #expect(url.isWritten(as: other) == (text == other), "\(text) as \(other)")
            }
        }
    }

    @Test(arguments: [
        ("", AddressError.Code.invalidURL), ("a.example", .invalidURL), ("/path", .invalidURL), ("   ", .invalidURL),
        ("http://a.example/a b", .invalidURL), ("http://a.example/\r\nX: y", .invalidURL),
        ("http://a.example/\u{7f}", .invalidURL), ("http://", .noHost), ("http:///x", .noHost), ("http:a", .noHost),
        ("https://:80", .noHost), ("http://u@a.example", .credentialsInURL),
        ("http://u:p@a.example", .credentialsInURL),
        ("http://a.example\\@b.example", .credentialsInURL), ("http://a.example:0", .invalidPort),
        ("http://a.example:99999", .invalidPort), ("http://a_b:x", .invalidPort), ("http://a..b", .invalidHost),
        ("http://2001:db8::1:8080/", .invalidHost), ("http://::1/", .invalidHost),
        ("1http://a.example", .invalidURL), ("http://a.example\\b", .invalidHost),
    ])
    func wrongURLsAreRefused(_ text: String, _ code: AddressError.Code) {
        #expect(throws: AddressError(code, "")) { try RequestURL(text) }
    }

    @Test func theLongestURLIsReadAndALongerOneIsNot() throws {
        let start = "http://a.example/"
        let longest = start + String(repeating: "a", count: RequestURL.maximumLength - start.utf8.count)
        #expect(try RequestURL(longest).absoluteText == longest)
        #expect(throws: AddressError.self) { try RequestURL(longest + "a") }
    }

    @Test func otherSchemesKeepTheirParts() throws {
        let url = try RequestURL("http+unix://%2Frun%2Fd.sock/v1?x")
        #expect(url.endpoint == nil && url.authority == "%2Frun%2Fd.sock" && url.target == "/v1?x")
        #expect(try RequestURL("data:text/plain,hi").path == "text/plain,hi")
        #expect(url.redacted == "http+unix:")
    }

    /// RFC 3986 §5.4.1 and §5.4.2, with a base of two labels.
    @Test(arguments: [
        ("g", "http://a.b/b/c/g"), ("./g", "http://a.b/b/c/g"), ("g/", "http://a.b/b/c/g/"), ("/g", "http://a.b/g"),
        ("//g", "http://g/"), ("?y", "http://a.b/b/c/d;p?y"), ("g?y", "http://a.b/b/c/g?y"),
        ("#s", "http://a.b/b/c/d;p?q#s"), ("g#s", "http://a.b/b/c/g#s"), ("g?y#s", "http://a.b/b/c/g?y#s"),
        (";x", "http://a.b/b/c/;x"), ("g;x", "http://a.b/b/c/g;x"), ("g;x?y#s", "http://a.b/b/c/g;x?y#s"),
        ("", "http://a.b/b/c/d;p?q"), (".", "http://a.b/b/c/"), ("./", "http://a.b/b/c/"), ("..", "http://a.b/b/"),
        ("../", "http://a.b/b/"), ("../g", "http://a.b/b/g"), ("../..", "http://a.b/"), ("../../", "http://a.b/"),
        ("../../g", "http://a.b/g"), ("../../../g", "http://a.b/g"), ("../../../../g", "http://a.b/g"),
        ("/./g", "http://a.b/g"), ("/../g", "http://a.b/g"), ("g.", "http://a.b/b/c/g."), (".g", "http://a.b/b/c/.g"),
        ("g..", "http://a.b/b/c/g.."), ("..g", "http://a.b/b/c/..g"), ("./../g", "http://a.b/b/g"),
        ("./g/.", "http://a.b/b/c/g/"), ("g/./h", "http://a.b/b/c/g/h"), ("g/../h", "http://a.b/b/c/h"),
        ("g;x=1/./y", "http://a.b/b/c/g;x=1/y"), ("g;x=1/../y", "http://a.b/b/c/y"),
        ("g?y/./x", "http://a.b/b/c/g?y/./x"), ("g?y/../x", "http://a.b/b/c/g?y/../x"),
        ("g#s/./x", "http://a.b/b/c/g#s/./x"), ("https://x.example/y", "https://x.example/y"), ("g:h", "g:h"),
    ])
    func referencesResolve(_ reference: String, _ expected: String) throws {
        let base = try RequestURL("http://a.b/b/c/d;p?q")
        #expect(try base.resolving(reference).description == expected)
    }

    @Test func aFragmentIsInherited() throws {
        let base = try RequestURL("http://a.example/x#part")
        #expect(try base.resolving("/y").fragment == "part")
        #expect(try base.resolving("http://b.example/#other").fragment == "other")
    }

    @Test func thePortIsKeptByRelativeReferences() throws {
        #expect(try RequestURL("https://a.example:8443/x").resolving("/y").absoluteText == "https://a.example:8443/y")
        #expect(try RequestURL("https://[::1]:8443/x").resolving("y").absoluteText == "https://[::1]:8443/y")
    }

    @Test(arguments: ["http:g", "http://u@x.example/", "//", "///x", "http://a b/"])
    func wrongReferencesAreRefused(_ reference: String) throws {
        let base = try RequestURL("http://a.b/b/c/d;p?q")
        #expect(throws: AddressError.self) { try base.resolving(reference) }
    }

    @Test func randomTextEndsInAURLThatReadsItselfBack() throws {
        var generator = SeededGenerator(seed: 5)
        let base = try RequestURL("https://base.example:1/a/b?c")
        let pieces = [
            "http://", "https://", "a.example", "/", "..", ".", "?", "#", ":", "@", "%", "%2e", "[::1]", "80",
        ]
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 10, of: pieces)
            for url in [try? RequestURL(text), try? base.resolving(text)].compactMap({ $0 }) {
                #expect((try? RequestURL(url.description)) == url, "\(text)")
                #expect(url.description.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f })
            }
        }
    }

    /// In Swift, a combining mark makes one `Character` of itself and what stands before it.
    @Test func delimitersAreFoundBeforeCombiningMarks() throws {
        let url = try RequestURL("http+unix://\u{6eb}n%2Fx/y")
        #expect(url.authority == "\u{6eb}n%2Fx" && url.path == "/y")
        #expect(try RequestURL(url.description) == url)
        for text in ["http://user:secret@\u{301}host/", "https://user@\u{6eb}host"] {
            let error = #expect(throws: AddressError.self) { try RequestURL(text) }
            #expect(error?.code == .credentialsInURL, "\(text)")
        }
        #expect(throws: AddressError.self) { try RequestURL("http://host:\u{301}80/") }
        #expect(throws: AddressError.self) { try Proxy("http://user:secret@\u{301}host:80") }
    }
}
