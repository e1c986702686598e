import Foundation
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCookies
@testable import SallyportSecureStore

/// What apps do with a jar: list, set, remove, follow, import, export.
@Suite(.timeLimit(.minutes(1))) struct JarContentsTests {
    private static let site = "https://www.example.com/"
    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test func cookiesAreListedByUrlAsTheyWouldBeSent() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("a=1; Path=/", "b=2; Path=/x", "c=3; Secure; Path=/", at: Self.site)
        #expect(try await jar.list().map(\.name) == ["a", "b", "c"])
        #expect(try await jar.list(for: RequestURL("https://www.example.com/x")).map(\.name) == ["b", "a", "c"])
        #expect(try await jar.list(for: RequestURL("http://www.example.com/")).map(\.name) == ["a"])
        #expect(try await jar.list(for: RequestURL("data:,x")).isEmpty)
        fixture.store.close()
    }

    @Test func aCookieThatTheAppSetIsDurableAndSent() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let cookie = try Cookie(
            name: "id", value: "secret", domain: "BÜCHER.example", includesSubdomains: true, path: "/x",
            expires: .distantFuture, isSecure: true)
        try await jar.set(cookie)
        #expect(try CookieStorage(fixture.store, jar: nil).load().records.count == 1)
        #expect(try await jar.sent(to: "https://www.xn--bcher-kva.example/x/y") == "id=secret")
        #expect(try await jar.remove(cookie))
        #expect(try await !jar.remove(cookie))
        #expect(try CookieStorage(fixture.store, jar: nil).load().records.isEmpty)
        fixture.store.close()
    }

    @Test(arguments: [
        ("a;b", "v", "a.example", "/"), ("a=b", "v", "a.example", "/"), ("", "", "a.example", "/"),
        ("a", "v\n", "a.example", "/"), ("a", " v", "a.example", "/"), ("a", "v", "", "/"), ("a", "v", "a b", "/"),
        ("a", "v", "a.example", "x"), ("a", "v", "a.example", "/ "), ("__Secure-a", "v", "a.example", "/"),
        ("a", "v;", "a.example", "/"), ("", "__host-a=b", "a.example", "/"), ("", "__host-a", "a.example", "/"),
        ("a", String(repeating: "v", count: 4096), "a.example", "/"),
        ("a", "v", "a.example", "/" + String(repeating: "p", count: 4096)),
    ])
    func cookiesThatNoServerCouldSetAreRefused(_ name: String, _ value: String, _ domain: String, _ path: String) {
        #expect(throws: CookieError(.invalidCookie, "")) {
            try Cookie(name: name, value: value, domain: domain, path: path)
        }
    }

    @Test(arguments: ["com", "co.uk", "127.0.0.1", "corp"])
    func nothingIsSharedBelowAPublicSuffixOrAnAddress(_ domain: String) throws {
        #expect(throws: CookieError(.invalidCookie, "")) {
            try Cookie(name: "a", value: "b", domain: domain, includesSubdomains: true)
        }
        #expect(try Cookie(name: "a", value: "b", domain: domain).domain == domain)
        #expect(throws: CookieError(.invalidCookie, "")) {
            try Cookie(name: "a", value: "b", domain: "a.example", sameSite: .none)
        }
    }

    @Test func cookiesAreRemovedByNameAndDomain() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        for host in ["example.com", "www.example.com", "notexample.com"] {
            try await jar.take("a=1; Max-Age=100", "b=2; Max-Age=100", at: "https://\(host)/")
        }
        #expect(try await jar.removeAll(named: "a", ofDomain: "Example.COM") == 2)
        #expect(try await jar.list().count == 4)
        #expect(try await jar.removeAll(ofDomain: "example.com") == 2)
        #expect(try await jar.removeAll(of: Principal("ann")) == 0)
        try await jar.take("a=1", at: Self.site, of: Principal("ann"))
        #expect(try await jar.removeAll() == 2)
        #expect(try await jar.removeEverything() == 1)
        #expect(try await jar.removeEverything() == 0)
        await #expect(throws: CookieError(.invalidCookie, "")) { try await jar.removeAll(ofDomain: "a b") }
        fixture.store.close()
    }

    @Test func aPrincipalsCookiesAtAHostGoWithItsCredentials() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let ann = Principal("ann")
        for principal in [ann, .instance] {
            try await jar.take(
                "host=1", "domain=2; Domain=example.com", at: "https://www.example.com/", of: principal)
            try await jar.take("other=3", at: "https://mail.example.com/", of: principal)
        }
        #expect(jar.removeNow(sentTo: [ann: [.name("www.example.com")]]))
        #expect(try await jar.list(of: ann).map(\.name) == ["other"])
        #expect(try await jar.list().count == 3)
        fixture.store.close()
    }

    @Test func theCookiesOfManyClearedCredentialsGoInOneTransaction() async throws {
        let fixture = try await JarFixture()
        // Longer than the test: nothing is written but what is waited for.
        let jar = fixture.jar(delay: .seconds(60))
        let principals = (0..<20).map { Principal("\($0)") }
        for principal in principals { try await jar.take("a=1; Max-Age=100", at: Self.site, of: principal) }
        try await jar.flush()
        let before = try #require(fixture.store.writer?.counts.commits)
        let places = principals.map { ($0, Set([Host.name("www.example.com")])) }
        try await jar.removeAll(sentTo: Dictionary(uniqueKeysWithValues: places))
        #expect(fixture.store.writer?.counts.commits == before + 1)
        #expect(try await jar.principals().isEmpty)
        fixture.store.close()
    }

    /// A lock leaves the stored cookies, and they may not be touched while it lasts. A process that is started
    /// afterwards must be told again.
    @Test func cookiesOfCredentialsThatWereClearedDuringALockAreNotReadAgain() async throws {
        let fixture = try await JarFixture()
        let (gate, ann) = (StubGate(), Principal("ann"))
        let jars = CookieJars(in: fixture.store, gate: gate, logger: Logger(label: "test"))
        let both = [jars.main, try await jars.jar(named: "x")]
        let cookie = try Cookie(name: "id", value: "1", domain: "a.example", expires: .distantFuture)
        for jar in both { try await jar.set(cookie, of: ann) }
        let places = [CredentialPlace(principal: ann, origin: "https://a.example:443")]
        gate.close(AccessDenied(.withdrawn))
        for jar in both { jar.forget(isWiped: false) }
        await #expect(throws: CookieError(.withdrawn, "")) { try await jars.credentialsCleared(for: nil, at: places) }
        gate.close(nil)
        let jarsOfALaterProcess = CookieJars(in: fixture.store, gate: gate, logger: Logger(label: "test"))
        let later = [jarsOfALaterProcess.main, try await jarsOfALaterProcess.jar(named: "x")]
        for jar in later { #expect(try await jar.list(of: ann).count == 1) }
        for jar in both { #expect(try await jar.list(of: ann).isEmpty) }
        try await jarsOfALaterProcess.credentialsCleared(for: nil, at: places)
        for jar in later { #expect(try await jar.list(of: ann).isEmpty) }
        fixture.store.close()
    }

    /// The store keeps the cookies of a jar under the bytes of its name, and a later process must find all of them.
    @Test func namesOfOtherBytesAreOtherJars() async throws {
        let (fixture, ann) = (try await JarFixture(), Principal("ann"))
        let names = ["jos\u{e9}", "jose\u{301}"]
        #expect(CookieJarSelection.named(names[0]) != .named(names[1]))
        #expect(CookieJarSelection.named(names[0]) == .named("jos\u{e9}"))
        func storedCounts() throws -> [Int] {
            try names.map { try CookieStorage(fixture.store, jar: $0).load().records.count }
        }
        let jars = CookieJars(in: fixture.store, gate: StubGate(), logger: Logger(label: "test"))
        let cookie = try Cookie(name: "id", value: "1", domain: "a.example", expires: .distantFuture)
        for name in names { try await jars.jar(named: name).set(cookie, of: ann) }
        #expect(try storedCounts() == [1, 1])
        await jars.shutdown()
        let jarsOfALaterProcess = CookieJars(in: fixture.store, gate: StubGate(), logger: Logger(label: "test"))
        let places = [CredentialPlace(principal: ann, origin: "https://a.example:443")]
        try await jarsOfALaterProcess.credentialsCleared(for: nil, at: places)
        #expect(try storedCounts() == [0, 0])
        fixture.store.close()
    }

    // MARK: Changes

    @Test func changesAreTold() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(limits: (2, 100))
        let changes = jar.changes
        try await jar.take("a=1; Max-Age=1", at: Self.site)
        try await jar.take("a=2; Max-Age=1", "b=3", "c=4", at: Self.site)
        try await jar.removeAll(named: "b")
        try await jar.take("c=; Max-Age=0", at: Self.site)
        await jar.shutdown()
        var told: [String] = []
        for await change in changes { told.append("\(change.number) \(change.cookie.name) \(change.kind)") }
        #expect(
            told == [
                "1 a set", "2 a set", "3 b set", "4 c set", "5 a removed(SallyportCookies.CookieChange.Cause.evicted)",
                "6 b removed(SallyportCookies.CookieChange.Cause.removed)",
                "7 c removed(SallyportCookies.CookieChange.Cause.expired)",
            ])
        fixture.store.close()
    }

    @Test func aSlowReaderSeesAGap() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let changes = jar.changes
        for number in 0..<300 { try await jar.take("a=\(number)", at: Self.site) }
        await jar.shutdown()
        var numbers: [UInt64] = []
        for await change in changes { numbers.append(change.number) }
        #expect(numbers == Array(45...300))
        fixture.store.close()
    }

    // MARK: Secrecy

    @Test func aValueShowsNowhere() throws {
        let cookie = try Cookie(name: "name", value: "PLANTED", domain: "a.example")
        var dumped = ""
        dump(cookie, to: &dumped)
        let texts = [
            "\(cookie)", String(reflecting: cookie), dumped, "\([cookie])", "\(cookie.value)",
            "\(CookieChange(number: 1, kind: .set, cookie: cookie, principal: .instance))",
        ]
        for text in texts { #expect(!text.contains("PLANTED"), "\(text)") }
        #expect(cookie.value.reveal() == "PLANTED")
        do {
            _ = try CookieFileFormat.netscape.cookies(in: Array("a.example\tX\t/\tFALSE\t0\tPLANTED\tPLANTED".utf8))
            Issue.record("A file without flags was read.")
        } catch {
            #expect(!"\(error) \(String(reflecting: error))".contains("PLANTED"))
        }
        do {
            _ = try CookieFileFormat.json.cookies(in: Array("[{\"name\": 1, \"value\": \"PLANTED\"}]".utf8))
            Issue.record("A file without domains was read.")
        } catch {
            #expect(!"\(error) \(String(reflecting: error))".contains("PLANTED"))
        }
    }

    // MARK: Files

    @Test(arguments: CookieFileFormat.allCases) func exportedCookiesAreImportedUnchanged(_ format: CookieFileFormat)
        async throws
    {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take(
            "a=1; Max-Age=3600", "session=2; HttpOnly", "c=\"3 ,\"; Domain=example.com; Secure; Path=/x", "alone",
            "empty=", at: Self.site)
        let before = try await jar.list()
        let file = try await jar.exportCookies(as: format)
        #expect(try await jar.removeEverything() == 5)
        #expect(try await jar.importCookies(file, as: format) == 5)
        #expect(try await jar.list() == before)
        fixture.store.close()
    }

    /// A default path is a part of the URL, and after an empty name the value may hold an equals sign: a server that
    /// sets such a cookie must not make the whole file one that cannot be imported.
    @Test(arguments: CookieFileFormat.allCases) func whatServersMaySetIsImportedAgain(_ format: CookieFileFormat)
        async throws
    {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let long = String(repeating: "p", count: 2000)
        #expect(try await jar.take("a=1", "=b=2", at: "https://www.example.com/x;y=1/z") == 2)
        #expect(try await jar.take("c=3", at: "https://www.example.com/\(long)/z") == 1)
        let before = try await jar.list()
        let file = try await jar.exportCookies(as: format)
        #expect(try await jar.removeEverything() == 3)
        #expect(try await jar.importCookies(file, as: format) == 3)
        #expect(try await jar.list() == before)
        #expect(try await jar.sent(to: "https://www.example.com/x;y=1/z") == "a=1; b=2")
        fixture.store.close()
    }

    @Test func jsonKeepsWhatNetscapeCannot() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.load()
        let field: [UInt8] = Array("a=".utf8) + [0xff, 0xfe] + Array("; SameSite=Strict; Max-Age=10".utf8)
        fixture.advance(by: 123)
        #expect(jar.receive([field], for: try .to(Self.site), of: .instance) == 1)
        let before = try await jar.list()
        let file = try await jar.exportCookies(as: .json)
        try await jar.removeEverything()
        try await jar.importCookies(file, as: .json)
        #expect(try await jar.list() == before)
        fixture.store.close()
    }

    /// A tab ends a field of a Netscape file: one such cookie made a file of which none could be imported.
    @Test func aCookieWithATabIsLeftOutOfANetscapeFileWhichSaysSo() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("a=1", "b=2\t3", "c\td=4", "e=5; Path=/\tx", at: Self.site)
        let cookies = try await jar.list()
        #expect(cookies.count == 4)
        #expect(cookies.map(CookieFileFormat.netscape.canHold) == [true, false, false, false])
        #expect(cookies.allSatisfy(CookieFileFormat.json.canHold))
        let (netscape, json) = (try await jar.exportCookies(as: .netscape), try await jar.exportCookies(as: .json))
        let comment = "\n# Cookies with a tab, which are left out here: 3\n"
        #expect(String(decoding: netscape, as: UTF8.self).contains(comment))
        try await jar.removeEverything()
        #expect(try await jar.importCookies(netscape, as: .netscape) == 1)
        #expect(try await jar.list() == [cookies[0]])
        #expect(try await jar.importCookies(json, as: .json) == 4)
        #expect(try await jar.list().count == 4)
        fixture.store.close()
    }

    @Test func aFileOfCurlsIsRead() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let file = """
            # Netscape HTTP Cookie File
            # https://curl.se/docs/http-cookies.html

            .example.com\tTRUE\t/\tTRUE\t1700003600\tshared\tone
            #HttpOnly_www.example.com\tFALSE\t/x\tFALSE\t0\tsession\ttwo three\r
            www.example.com\tFALSE\t/\tFALSE\t1600000000\tgone\tx
            www.example.com\tFALSE\t/\tFALSE\t0\tempty
            """
        #expect(try await jar.importCookies(Array(file.utf8), as: .netscape) == 3)
        #expect(try await jar.sent(to: "https://www.example.com/x") == "session=two three; shared=one; empty=")
        #expect(try await jar.list().map(\.isHTTPOnly) == [false, true, false])
        fixture.store.close()
    }

    @Test(arguments: [
        (CookieFileFormat.netscape, "a.example\tFALSE\t/\tFALSE\t0\ta\tb\nnonsense"),
        (.netscape, "a.example\tFALSE\t/\tFALSE\t0\ta\tb\n.com\tTRUE\t/\tFALSE\t0\ta\tb"),
        (.netscape, "a.example\tFALSE\t/\tFALSE\t0\ta\tb\na.example\tFALSE\t/\tFALSE\tsoon\ta\tb"),
        (.netscape, "a.example\tFALSE\t/\tFALSE\t0\ta\tb\na.example\tFALSE\tx\tFALSE\t0\ta\tb"),
        (.json, "[{\"name\":\"a\",\"domain\":\"a.example\"},{\"name\":\"__Host-a\",\"domain\":\"a.example\"}]"),
        (.json, "[{\"name\":\"a\",\"domain\":\"a.example\"},{\"name\":\"a\"}]"), (.json, "{}"), (.json, ""),
        (.json, "[{\"name\":\"a\",\"domain\":\"a.example\",\"expires\":\"soon\"}]"),
    ])
    func aFileThatIsPartlyWrongIsNotTakenAtAll(_ format: CookieFileFormat, _ file: String) async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        await #expect(throws: CookieError(.invalidFile, "")) {
            try await jar.importCookies(Array(file.utf8), as: format)
        }
        #expect(try await jar.list().isEmpty)
        fixture.store.close()
    }

    @Test func aFileHas20000CookiesAtMost() throws {
        let line = Array("a.example\tFALSE\t/\tFALSE\t0\ta\tb\n".utf8)
        let file = Array(repeating: line, count: CookieJar.maximumCount).flatMap { $0 }
        #expect(try CookieFileFormat.netscape.cookies(in: file).count == CookieJar.maximumCount)
        #expect(throws: CookieError(.tooLarge, "")) { try CookieFileFormat.netscape.cookies(in: file + line) }
        let long = [UInt8](repeating: 0x0a, count: CookieJar.maximumFileLength + 1)
        #expect(throws: CookieError(.tooLarge, "")) { try CookieFileFormat.netscape.cookies(in: long) }
    }

    @Test func aDateThatIsNoDateHarmsNothing() throws {
        for interval in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
            let cookie = try Cookie(
                name: "a", value: "b", domain: "a.example", expires: Date(timeIntervalSince1970: interval))
            #expect(cookie.expires ?? .distantFuture < Date().addingTimeInterval(401 * 86_400))
        }
    }
}
