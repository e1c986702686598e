import SallyportBase
import SallyportCore
import Testing

@Suite struct ProxySettingsTests {
    @Test(arguments: [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("HTTPS://Proxy.Example:443/", "https://proxy.example:443"),
        ("socks5://[::1]:1080", "socks5://[::1]:1080"),
    ])
    func aProxyIsKindAndPlace(_ text: String, _ expected: String) throws {
        #expect(try Proxy(text).description == expected)
    }

    @Test(arguments: [
        "", "proxy.example:3128", "ftp://proxy.example:1", "http://proxy.example", "http://:1", "http://a:0",
        "http:/a:1",
        "http://a:1/x", "http://a b:1", "socks5h://a:1", "://a:1",
    ])
    func invalidProxiesAreRefused(_ text: String) { #expect(throws: AddressError.self) { try Proxy(text) } }

    @Test func aPasswordInAnAddressIsRefusedAndNotRepeated() {
        let error = #expect(throws: AddressError(.credentialsInURL, "")) { try Proxy("http://ann:planted@a:1") }
        #expect(!"\(String(describing: error))".contains("planted"))
    }

    @Test func itsPasswordIsNeverShown() throws {
        let credential = Credential(user: "ann", password: Redacted("planted"))
        let proxy = try Proxy("http://a:1", credential: credential)
        let settings = try ProxySettings.all(proxy)
        var dump = ""
        Swift.dump(settings, to: &dump)
        #expect(!"\(proxy) \(settings) \(String(reflecting: settings)) \(dump)".contains("planted"))
    }

    @Test func eachSchemeHasItsOwn() throws {
        let settings = try ProxySettings(http: Proxy("http://a:1"), https: Proxy("socks5://b:2"))
        #expect(try settings.proxy(for: RequestURL("http://x/"))?.description == "http://a:1")
        #expect(try settings.proxy(for: RequestURL("https://x/"))?.description == "socks5://b:2")
        #expect(try settings.proxy(for: RequestURL("data:,x")) == nil)
        #expect(try ProxySettings.none.proxy(for: RequestURL("http://x/")) == nil)
        #expect(try ProxySettings(https: Proxy("http://a:1")).proxy(for: RequestURL("http://x/")) == nil)
    }

    @Test(arguments: [
        ("a.example", "a.example", true), ("a.example", "x.a.example", false), ("A.Example.", "a.example", true),
        (".a.example", "x.a.example", true), (".a.example", "y.x.a.example", true), (".a.example", "a.example", false),
        (".a.example", "xa.example", false), ("*.a.example", "x.a.example", true),
        ("bücher.example", "xn--bcher-kva.example", true),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "0xc0000201", true),
        ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false),
        ("192.0.2.0/24", "a.example", false),
        ("192.0.2.128/25", "192.0.2.127", false), ("0.0.0.0/0", "198.51.100.1", true), ("0.0.0.0/0", "[::1]", false),
        ("10.0.0.0/32", "10.0.0.0", true), ("10.0.0.0/32", "10.0.0.1", false),
        ("2001:db8::/32", "[2001:db8:ffff::1]", true), ("2001:db8::/33", "[2001:db8:8000::1]", false),
        ("::1", "[::1]", true), ("localhost", "localhost", true), ("localhost", "a.localhost", true),
        ("localhost", "127.0.0.9", true), ("localhost", "[::1]", true), ("localhost", "localhost.example", false),
        ("localhost", "128.0.0.1", false),
    ])
    func anExceptionCoversItsHosts(_ exception: String, _ host: String, _ isCovered: Bool) throws {
        let settings = try ProxySettings.all(Proxy("http://proxy.example:1"), except: [exception])
        #expect(try (settings.proxy(for: RequestURL("http://\(host)/")) == nil) == isCovered)
    }

    @Test(arguments: [
        "", ".", "*.", "a b", "192.0.2.1/24", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/-1", "192.0.2.0/+8", "/8", "a/8",
        "2001:db8::/129", "192.0.2.0/24/1", ".192.0.2.1", "192.0.2.0/0x8",
    ])
    func invalidExceptionsAreRefused(_ text: String) { #expect(throws: AddressError.self) { try ProxyException(text) } }
}
