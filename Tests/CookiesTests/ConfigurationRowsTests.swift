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
        let world = try await World(way)
        let session = try world.session()
        for path in ["/set", "/page", "/dir/page"] { try await world.load(path, by: session) }
        #expect(try await world.cookies(of: 3) == ["-", "session=1; kept=2", "dir=3; session=1; kept=2"])
        #expect(world.relay.acceptedConnections == (way == .relayed ? 1 : 0))
        await world.close()
    }

    @Test(arguments: Way.allCases) func theyAreSwitchedOffForASession(_ way: Way) async throws {
        let world = try await World(way)
        let off = try world.session { $0.handlesCookies = false }
        for path in ["/set", "/page"] { try await world.load(path, by: off) }
        try await world.load("/page", by: try world.session())
        #expect(try await world.cookies(of: 3) == ["-", "-", "-"])
        await world.close()
    }

    /// `setHTTPShouldHandleCookies:`.
    @Test(arguments: Way.allCases) func theyAreSwitchedOffForARequest(_ way: Way) async throws {
        let world = try await World(way)
        let session = try world.session()
        try await world.load("/set", by: session) { $0.handlesCookies = false }
        try await world.load("/set", by: session)
        try await world.load("/page", by: session) { $0.handlesCookies = false }
        try await world.load("/page", by: session)
        #expect(try await world.cookies(of: 4) == ["-", "-", "-", "session=1; kept=2"])
        await world.close()
    }

    /// `HTTPCookieAcceptPolicy`, which the documents ignore.
    @Test(arguments: Way.allCases) func theAcceptPolicyIsHonoured(_ way: Way) async throws {
        let world = try await World(way)
        let never = try world.session { $0.cookieAcceptPolicy = .never }
        for path in ["/set", "/page"] { try await world.load(path, by: never) }
        let strict = try world.session()
        let document = try RequestURL("https://news.test/")
        try await world.load("/set", by: strict) { $0.mainDocument = document }
        try await world.load("/page", by: strict)
        let always = try world.session { $0.cookieAcceptPolicy = .always }
        try await world.load("/third", by: always) { $0.mainDocument = document }
        try await world.load("/page", by: always) { $0.mainDocument = document }
        #expect(try await world.cookies(of: 6) == ["-", "-", "-", "-", "-", "third=1"])
        await world.close()
    }

    @Test(arguments: Way.allCases) func aSessionChoosesItsJar(_ way: Way) async throws {
        let world = try await World(way)
        let named = try world.session { $0.cookieJar = .named("x") }
        try await world.load("/set", by: named)
        for selection in [CookieJarSelection.instance, .named("y"), .none, .named("x")] {
            try await world.load("/page", by: try world.session { $0.cookieJar = selection })
        }
        #expect(try await world.cookies(of: 5) == ["-", "-", "-", "-", "session=1; kept=2"])
        let wrong = try world.session { $0.cookieJar = .named("") }
        await #expect(throws: LoadError(.invalidConfiguration, "")) { try await world.load("/page", by: wrong) }
        await world.close()
    }

    /// Each hop of a redirect passes the stage anew, and none takes another host's cookies along.
    @Test(arguments: Way.allCases) func redirectsTakeNoCookieToAnotherHost(_ way: Way) async throws {
        let world = try await World(way)
        let session = try world.session()
        try await world.load("/set", by: session)
        try await world.load("/away", by: session)
        try await world.load("/here", by: session)
        #expect(
            try await world.cookies(of: 5) == [
                "-", "session=1; kept=2", "-", "session=1; kept=2; away=4", "session=1; kept=2; away=4; here=5",
            ])
        await world.close()
    }

    @Test(arguments: Way.allCases) func eachLegOfAChallengeCarriesWhatTheLastOneSet(_ way: Way) async throws {
        let world = try await World(way)
        let session = try world.session()
        try await world.load("/private", by: session) {
            $0.credential = Credential(user: "ann", password: Redacted("secret"))
        }
        #expect(try await world.cookies(of: 2) == ["-", "leg=1"])
        await world.close()
    }

    @Test(arguments: Way.allCases) func principalsAreKeptApartOnTheWire(_ way: Way) async throws {
        let world = try await World(way)
        let session = try world.session()
        for principal in ["ann", "bob", "ann"] {
            try await world.load("/set", by: session) { $0.principal = Principal(principal) }
        }
        #expect(try await world.cookies(of: 3) == ["-", "-", "session=1; kept=2"])
        await world.close()
    }

    @Test(arguments: Way.allCases) func anAuthorizationOfTheAppsOwnHasCookiesOfItsOwn(_ way: Way) async throws {
        let world = try await World(way)
        let session = try world.session()
        for token in ["Bearer a", "Bearer b", nil, "Bearer a"] {
            try await world.load("/set", by: session, authorization: token)
        }
        #expect(try await world.cookies(of: 4) == ["-", "-", "-", "session=1; kept=2"])
        await world.close()
    }

    @Test(arguments: Way.allCases) func persistentCookiesAreSentAfterARestart(_ way: Way) async throws {
        let world = try await World(way)
        try await world.load("/set", by: try world.session())
        await world.loading.shutdown()
        await world.jars.shutdown()
        let again = try World(world, CookieJars(in: world.store, gate: RelayGate(nil), logger: world.logger))
        try await again.load("/page", by: try again.session())
        #expect(try await again.cookies(of: 2) == ["-", "kept=2"])
        await again.close()
    }
}
