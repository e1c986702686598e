import HTTPTypes
import Testing

@testable import SallyportCore
@testable import SallyportLoading

/// Which fields a redirect carries from one URL to another.
@Suite struct FieldScopeTests {
    /// Hosts of one site end in the same two labels.
    private struct TwoLabels: SiteRules {
        func isSameSite(_ one: Host, _ other: Host) -> Bool {
            one.bareText.split(separator: ".").suffix(2) == other.bareText.split(separator: ".").suffix(2)
        }
    }

    private func carries(
        _ field: String, _ scopes: FieldScopes = FieldScopes(), from source: String = "https://a.corp.example/",
        to target: String = "https://b.corp.example/", by sites: (any SiteRules)? = TwoLabels()
    ) throws -> Bool {
        scopes.carries(
            try #require(HTTPField.Name(field)), from: try RequestURL(source), to: try RequestURL(target), by: sites)
    }

    private func scopes(_ field: String, _ scope: FieldScope) throws -> FieldScopes {
        var scopes = FieldScopes()
        try scopes.set(scope, for: try #require(HTTPField.Name(field)))
        return scopes
    }

    @Test(arguments: ["X-Api-Key", "x-request-id", "Referer", "Origin", "From", "traceparent", "baggage", "Host"])
    func fieldsOfTheAppStayWithTheirOrigin(_ field: String) throws {
        #expect(try !carries(field))
        for target in ["https://a.corp.example:444/", "http://a.corp.example/", "https://a.corp.example./"] {
            #expect(try carries(field, to: target) == target.contains("example./"), "one spelling of each host")
        }
    }

    @Test(arguments: [
        "Accept", "accept-language", "User-Agent", "Range", "If-Range", "If-None-Match", "Cache-Control",
        "Content-Type",
    ])
    func standardFieldsGoAlongUnlessTheAppBindsThem(_ field: String) throws {
        #expect(try carries(field))
        #expect(try carries(field, FieldScopes(others: .site), to: "https://other.test/"))
        #expect(try !carries(field, scopes(field, .origin)))
    }

    @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization", "X-Good-GD-AuthToken", "DPoP"])
    func credentialsHaveNoOtherScope(_ field: String) throws {
        var scopes = FieldScopes(others: .site)
        let name = try #require(HTTPField.Name(field))
        let error = #expect(throws: LoadError.self) { try scopes.set(.site, for: name) }
        #expect(error?.code == .invalidRequest)
        #expect(try !carries(field, scopes))
        #expect(try carries(field, scopes, to: "https://a.corp.example/x"))
    }

    @Test(arguments: [
        ("https://b.corp.example/", true), ("https://corp.example:8443/", true), ("https://a.corp.example:444/", true),
        ("https://b.other.example/", false), ("http://a.corp.example/", false), ("https://192.0.2.1/", false),
    ])
    func aSiteIsARegisteredDomain(_ target: String, _ isCarried: Bool) throws {
        #expect(try carries("X-Api-Key", scopes("X-Api-Key", .site), to: target) == isCarried)
        #expect(try carries("X-Api-Key", FieldScopes(others: .site), to: target) == isCarried)
    }

    @Test func withoutAListASiteIsOneHost() throws {
        let scopes = try scopes("X-Api-Key", .site)
        #expect(try !carries("X-Api-Key", scopes, by: nil))
        #expect(try carries("X-Api-Key", scopes, to: "https://a.corp.example:444/", by: nil))
    }

    @Test func aSiteReachesFromHTTPToHTTPSAndNotBack() throws {
        let scopes = try scopes("X-Api-Key", .site)
        let (plain, secure) = ("http://a.corp.example/", "https://b.corp.example/")
        #expect(try carries("X-Api-Key", scopes, from: plain, to: secure))
        #expect(try !carries("X-Api-Key", scopes, from: secure, to: plain))
        #expect(try carries("X-Api-Key", scopes, from: plain, to: "http://b.corp.example/"))
    }

    @Test(arguments: [
        ("https://b.test/", true), ("https://b.test:8443/", true), ("https://B.TEST./", true),
        ("https://sub.b.test/", false), ("https://c.test/", false), ("https://c.test:8443/", true),
        ("http://b.test/", false), ("https://[2001:db8::1]:9/", true), ("https://[2001:db8::2]/", false),
        ("https://b%2etest/", true),
    ])
    func namedHostsAreReachedOnTheirPorts(_ target: String, _ isCarried: Bool) throws {
        let hosts = try FieldScope.hosts(["b.test", "c.test:8443", "[2001:db8::1]"])
        #expect(try carries("X-Api-Key", scopes("X-Api-Key", hosts), to: target) == isCarried)
    }

    @Test(arguments: ["", "b.test:0", "b.test:", "b.test:x", "a b", "2001:db8::1", "https://b.test", "*.b.test"])
    func otherTextIsNoHost(_ text: String) {
        #expect(throws: AddressError.self) { try FieldScope.hosts(["a.test", text]) }
    }
}
