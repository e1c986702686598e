import SallyportCore
import SallyportUnixSocket
import Testing

@Suite struct UnixSocketURLTests {
    @Test(arguments: [
        ("http+unix://%2Frun%2Fdaemon.sock/version", "/run/daemon.sock", "http+unix://%2Frun%2Fdaemon.sock/version"),
        ("HTTP+UNIX://%2frun%2f%64aemon.sock", "/run/daemon.sock", "http+unix://%2Frun%2Fdaemon.sock/"),
        ("http+unix://%2Fa/b/../c?d=e#f", "/a", "http+unix://%2Fa/c?d=e"),
        ("http+unix://%2Fa?d", "/a", "http+unix://%2Fa/?d"),
        ("http+unix://%2Fa%25b%20c/", "/a%b c", "http+unix://%2Fa%25b%20c/"),
        ("http+unix://%2F%C3%BC.sock/", "/ü.sock", "http+unix://%2F%C3%BC.sock/"),
        ("http+unix://%2F...%2F.a/", "/.../.a", "http+unix://%2F...%2F.a/"),
        ("http+unix://%2Fa%3A80%40b/", "/a:80@b", "http+unix://%2Fa%3A80%40b/"),
    ])
    func wellFormedURLsAreRead(_ text: String, _ socket: String, _ canonical: String) throws {
        let url = try UnixSocketURL(RequestURL(text))
        #expect(url.socket == socket)
        #expect("\(url.url)" == canonical)
        #expect(try UnixSocketURL(url.url) == url)
    }

    @Test(arguments: [
        "http+unix:", "http+unix:/run/daemon.sock", "http+unix:///run/daemon.sock", "http+unix://run/x",
        "http+unix://%2F/", "http+unix://%2Fa%2F/", "http+unix://%2F%2Fa/", "http+unix://%2Fa%2F..%2Fb/",
        "http+unix://%2Fa%2F.%2Fb/", "http+unix://%2F../", "http+unix://%2Fa%00b/", "http+unix://%00a/",
        "http+unix://%40a/", "http+unix://user@%2Fa/", "http+unix://%2Fa:80/", "http+unix://[::1]/",
        "http+unix://%2Fa%/", "http+unix://%2Fa%2/", "http+unix://%2F%FF/", "http://%2Fa/", "unix://%2Fa/",
    ])
    func malformedURLsAreRefused(_ text: String) throws {
        // `http` knows by itself that an escaped slash is no host.
        guard let url = try? RequestURL(text) else { return }
        #expect(throws: LoadError(.invalidRequest, "")) { try UnixSocketURL(url) }
    }

    @Test func theLongestSocketPathIsReadAndALongerOneIsNot() throws {
        let longest = "/" + String(repeating: "a", count: UnixSocketURL.maximumSocketLength - 1)
        #expect(try UnixSocketURL(socket: longest, target: "/").socket == longest)
        #expect(throws: LoadError(.invalidRequest, "")) { try UnixSocketURL(socket: longest + "a", target: "/") }
    }

    @Test(arguments: [".evil.example/", "@evil.example/", ":80/", "evil"])
    func aTargetDoesNotReachIntoTheHost(_ target: String) {
        #expect(throws: LoadError(.invalidRequest, "")) { try UnixSocketURL(socket: "/a", target: target) }
    }
}
