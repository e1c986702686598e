import SallyportCookies
import SallyportCore
import Testing

/// Which hosts belong to one site by the system's list of public suffixes.
@Suite struct PublicSuffixSitesTests {
    @Test(arguments: [
        ("a.corp.example", "b.corp.example", true), ("corp.example", "a.b.corp.example", true),
        ("corp.example", "other.example", false), ("a.co.uk", "b.co.uk", false), ("x.a.co.uk", "a.co.uk", true),
        ("co.uk", "a.co.uk", false), ("a.github.io", "b.github.io", false), ("github.io", "a.github.io", false),
        ("localhost", "localhost", true), ("localhost", "a.localhost", false), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("[2001:db8::1]", "[2001:db8::2]", false), ("example", "example", true),
        ("a.xn--bcher-kva.example", "bücher.example", true),
    ])
    func registeredDomainsAreSites(_ one: String, _ other: String, _ isSame: Bool) throws {
        let sites = PublicSuffixSites()
        #expect(try sites.isSameSite(Host(one), Host(other)) == isSame)
        #expect(try sites.isSameSite(Host(other), Host(one)) == isSame)
    }
}
