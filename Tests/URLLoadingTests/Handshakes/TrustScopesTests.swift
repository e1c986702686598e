import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Which settings give stored responses another trust scope.
@Suite struct TrustScopesTests {
    private let authority: TestAuthority
    private let url: RequestURL

    init() throws {
        authority = try TestAuthority()
        url = try RequestURL("https://a.example/")
    }

    private func scope(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> TrustScope {
        var configuration = SessionConfiguration()
        try change(&configuration)
        return TrustScopes(configuration).scope(of: url, asksApp: false)
    }

    private static func pin(_ byte: UInt8) throws -> PublicKeyPin {
        try #require(PublicKeyPin(sha256: Array(repeating: byte, count: 32)))
    }

    @Test func equalSettingsAreOneScope() throws {
        let (one, two) = (try Self.pin(1), try Self.pin(2))
        #expect(try scope() == scope())
        #expect(try scope { $0.trust = try .only([authority.der]) } == scope { $0.trust = try .only([authority.der]) })
        #expect(
            try scope { try $0.pin("a.example", to: one, backups: [two]) }
                == scope { try $0.pin("a.example", to: two, backups: [one]) })
        #expect(try scope { $0.idleTimeout = .seconds(1) } == scope(), "What is not about trust makes no difference.")
        #expect(try scope().digest.count == 32)
    }

    @Test func eachSettingMakesAScopeOfItsOwn() throws {
        let other = try TestAuthority(name: "Other")
        let (one, two, three) = (try Self.pin(1), try Self.pin(2), try Self.pin(3))
        let scopes = try [
            scope(), scope { $0.trust = try .only([authority.der]) },
            scope { $0.trust = try .systemAnd([authority.der]) },
            scope { $0.trust = try .only([other.der]) }, scope { $0.trust = try .only([other.der, authority.der]) },
            scope { $0.trust = .only([]) },
            scope { try $0.pin("a.example", to: one, backups: [two]) },
            scope { try $0.pin("a.example", to: one, backups: [three]) },
            scope { $0.revocation.stapling = .required }, scope { $0.revocation.stapling = .ignored },
            scope { try $0.present(authority.client().clientIdentity, to: "a.example") },
            scope { try $0.present(other.client().clientIdentity, to: "a.example") },
            scope { $0.minimumTLSVersion = .tls13 },
        ]
        #expect(Set(scopes).count == scopes.count)
    }

    /// Pins and certificates affect only the scope of their own host.
    @Test func settingsOfAnotherHostMakeNoDifference() throws {
        let (one, two) = (try Self.pin(1), try Self.pin(2))
        #expect(try scope { try $0.pin("b.example", to: one, backups: [two]) } == scope())
        #expect(try scope { try $0.present(authority.client().clientIdentity, to: "b.example") } == scope())
    }

    /// By its cookies a server knows the user, over plain http too.
    @Test func eachCookieJarMakesAScopeOfItsOwn() throws {
        for text in ["https://a.example/", "http://a.example/"] {
            let url = try RequestURL(text)
            func scope(with jar: CookieJarSelection) -> TrustScope {
                var configuration = SessionConfiguration()
                configuration.cookieJar = jar
                return TrustScopes(configuration).scope(of: url, asksApp: false)
            }
            let jars: [CookieJarSelection] = [.instance, .named("a"), .named("b"), .none]
            #expect(Set(jars.map { scope(with: $0) }).count == jars.count)
            #expect(scope(with: .named("a")) == scope(with: .named("a")), "Sessions with one jar share.")
        }
    }

    @Test func aSessionThatLeavesItsJarOutSaysSo() {
        var configuration = SessionConfiguration()
        #expect(TrustScopes(configuration).handlesCookies)
        configuration.handlesCookies = false
        #expect(!TrustScopes(configuration).handlesCookies)
    }

    @Test func withADelegateTheScopeDiffers() throws {
        let scopes = TrustScopes(SessionConfiguration())
        #expect(scopes.scope(of: url, asksApp: true) != scopes.scope(of: url, asksApp: false))
        let plain = try RequestURL("http://a.example/")
        #expect(scopes.scope(of: plain, asksApp: true) == .plain && scopes.scope(of: plain, asksApp: false) == .plain)
    }
}
