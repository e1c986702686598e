import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportCookies
@testable import SallyportSecureStore

/// The configuration's rows on cookies, seen by a real nginx: directly and through a relay.
@Suite(.timeLimit(.minutes(1))) struct ConfigurationRowsTests {
    /// `HTTPShouldSetCookies`: what is set is sent, and nothing else is.
    @Test(arguments: Way.allCases) func cookiesAreHandledByThemselves(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        for path in ["/set", "/page", "/dir/page"] { try await app.load(path, by: session) }
        #expect(try await app.cookies(of: 3) == ["-", "session=1; kept=2", "dir=3; session=1; kept=2"])
        #expect(app.relay?.acceptedConnections ?? 1 == 1)
        await app.close()
    }

    @Test(arguments: Way.allCases) func theyAreSwitchedOffForASession(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let off = try app.session { $0.handlesCookies = false }
        for path in ["/set", "/page"] { try await app.load(path, by: off) }
        try await app.load("/page", by: try app.session())
        #expect(try await app.cookies(of: 3) == ["-", "-", "-"])
        await app.close()
    }

    /// `setHTTPShouldHandleCookies:`.
    @Test(arguments: Way.allCases) func theyAreSwitchedOffForARequest(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        try await app.load("/set", by: session) { $0.handlesCookies = false }
        try await app.load("/set", by: session)
        try await app.load("/page", by: session) { $0.handlesCookies = false }
        try await app.load("/page", by: session)
        #expect(try await app.cookies(of: 4) == ["-", "-", "-", "session=1; kept=2"])
        await app.close()
    }

    /// `HTTPCookieAcceptPolicy` has an effect here.
    @Test(arguments: Way.allCases) func theAcceptPolicyIsHonoured(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let never = try app.session { $0.cookieAcceptPolicy = .never }
        for path in ["/set", "/page"] { try await app.load(path, by: never) }
        let strict = try app.session()
        let document = try RequestURL("https://news.test/")
        try await app.load("/set", by: strict) { $0.mainDocument = document }
        try await app.load("/page", by: strict)
        let always = try app.session { $0.cookieAcceptPolicy = .always }
        try await app.load("/third", by: always) { $0.mainDocument = document }
        try await app.load("/page", by: always) { $0.mainDocument = document }
        #expect(try await app.cookies(of: 6) == ["-", "-", "-", "-", "-", "third=1"])
        await app.close()
    }

    @Test(arguments: Way.allCases) func aSessionChoosesItsJar(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let named = try app.session { $0.cookieJar = .named("x") }
        try await app.load("/set", by: named)
        for selection in [CookieJarSelection.instance, .named("y"), .none, .named("x")] {
            try await app.load("/page", by: try app.session { $0.cookieJar = selection })
        }
        #expect(try await app.cookies(of: 5) == ["-", "-", "-", "-", "session=1; kept=2"])
        let wrong = try app.session { $0.cookieJar = .named("") }
        await #expect(throws: LoadError(.invalidConfiguration, "")) { try await app.load("/page", by: wrong) }
        await app.close()
    }

    /// Each hop of a redirect passes the stage anew, and none takes another host's cookies along.
    @Test(arguments: Way.allCases) func redirectsTakeNoCookieToAnotherHost(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        try await app.load("/set", by: session)
        try await app.load("/away", by: session)
        try await app.load("/here", by: session)
        #expect(
            try await app.cookies(of: 5) == [
                "-", "session=1; kept=2", "-", "session=1; kept=2; away=4", "session=1; kept=2; away=4; here=5",
            ])
        await app.close()
    }

    @Test(arguments: Way.allCases) func eachLegOfAChallengeCarriesWhatTheLastOneSet(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        try await app.load("/private", by: session) {
            $0.credential = Credential(user: "ann", password: Redacted("secret"))
        }
        #expect(try await app.cookies(of: 2) == ["-", "leg=1"])
        await app.close()
    }

    @Test(arguments: Way.allCases) func principalsAreKeptApartOnTheWire(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        for principal in ["ann", "bob", "ann"] {
            try await app.load("/set", by: session) { $0.principal = Principal(principal) }
        }
        #expect(try await app.cookies(of: 3) == ["-", "-", "session=1; kept=2"])
        await app.close()
    }

    @Test(arguments: Way.allCases) func anAuthorizationOfTheAppsOwnHasCookiesOfItsOwn(_ way: Way) async throws {
        let app = try await CookieApp(way)
        let session = try app.session()
        for token in ["Bearer a", "Bearer b", nil, "Bearer a"] {
            try await app.load("/set", by: session, authorization: token)
        }
        #expect(try await app.cookies(of: 4) == ["-", "-", "-", "session=1; kept=2"])
        await app.close()
    }

    @Test(arguments: Way.allCases) func persistentCookiesAreSentAfterARestart(_ way: Way) async throws {
        let app = try await CookieApp(way)
        try await app.load("/set", by: try app.session())
        let again = await app.restarted()
        try await again.load("/page", by: try again.session())
        #expect(try await again.cookies(of: 2) == ["-", "kept=2"])
        await again.close()
    }
}
