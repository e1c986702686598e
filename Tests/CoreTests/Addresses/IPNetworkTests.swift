import Foundation
import SallyportCore
import Testing

@Suite struct IPNetworkTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"), ("192.0.2.1/32", "192.0.2.1/32"),
        ("FD00:0::/8", "fd00::/8"), ("::/0", "::/0"), ("2001:db8::1/128", "2001:db8::1/128"),
        ("::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104"), ("128.0.0.0/1", "128.0.0.0/1"), ("fe80::/10", "fe80::/10"),
    ])
    func networksHaveOneSpelling(_ text: String, _ expected: String) throws {
        let network = try #require(IPNetwork(text))
        #expect(network.description == expected && IPNetwork(expected) == network)
        #expect(try JSONDecoder().decode([IPNetwork].self, from: JSONEncoder().encode([network])) == [network])
    }

    @Test(arguments: [
        "", "/", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08",
        "10.0.0.0/ 8",
        "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0.0/8/8", "10.0.0.1/8", "10.0.0.0/0", "10/8", "10.0/8", "0x0a.0.0.0/8",
        "012.0.0.0/8", "167772160/8", "[fd00::]/8", "fd00::/8]", "fe80::%eth0/64", "fe80::1%1/128", "fd00::/129",
        "fd00::1/8", "::/00", "::/999", "::/256", "10.0.0.0/0x8", "example/8", "10.0.0.0/8\u{0}", "10.0.0.0/\u{662}",
    ])
    func invalidNetworksAreRefused(_ text: String) throws {
        #expect(IPNetwork(text) == nil)
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode([IPNetwork].self, from: JSONEncoder().encode([text]))
        }
    }

    @Test func aNetworkHasItsAddressesAndNoOthers() throws {
        for (network, inside, outside) in [
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0", "::ffff:10.0.0.1", "a00::"]),
            ("192.0.2.4/30", ["192.0.2.4", "192.0.2.7"], ["192.0.2.3", "192.0.2.8"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::1"]), ("::/0", ["::", "ffff::"], ["0.0.0.0"]),
            (
                "2001:db8:0:8000::/49", ["2001:db8:0:8000::", "2001:db8:0:ffff::1"],
                ["2001:db8:0:7fff::", "2001:db8:1::"]
            ),
            ("fd00::1/128", ["fd00::1"], ["fd00::", "fd00::2"]),
        ] {
            let network = try #require(IPNetwork(network))
            for (texts, isInside) in [(inside, true), (outside, false)] {
                for text in texts {
                    let address = try #require(IPAddress(text))
                    #expect(network.contains(address) == isInside, "\(network) \(text)")
                }
            }
        }
    }

    @Test(arguments: [
        ("10.0.0.1", []), ("2001:db8::1", []), ("::1", []), ("0.0.0.0", ["127.0.0.1"]), ("0.0.0.1", []),
        ("::", ["::1"]),
        ("::ffff:10.0.0.1", ["10.0.0.1"]), ("::ffff:0.0.0.0", ["0.0.0.0", "127.0.0.1"]), ("::10.0.0.1", ["10.0.0.1"]),
        ("::ffff:0:10.0.0.1", ["10.0.0.1"]), ("64:ff9b::10.0.0.1", ["10.0.0.1"]), ("2002:a00:1::1", ["10.0.0.1"]),
        ("2001:0:a00:1::f5ff:fffd", ["10.0.0.1", "10.0.0.2"]), ("64:ff9b:2::10.0.0.1", []),
    ])
    func anAddressStandsForOthers(_ text: String, _ expected: [String]) throws {
        #expect(try #require(IPAddress(text)).aliases.map(\.description) == expected)
    }

    /// Each place of RFC 6052 §2.2 that lies inside 64:ff9b:1::/48.
    @Test(arguments: ["64:ff9b:1::a00:1", "64:ff9b:1:5:a:0:100:0", "64:ff9b:1:a:0:1::", "64:ff9b:1:a00:0:100::"])
    func aNetworksOwnTranslationIsSeenInEachPlace(_ text: String) throws {
        #expect(try #require(IPAddress(text)).aliases.contains(.v4(0x0a00_0001)), "\(text)")
    }
}
