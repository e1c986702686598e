import SallyportCore
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", IPAddress.Scope.loopback), ("127.255.255.255", .loopback), ("::1", .loopback),
        ("169.254.169.254", .linkLocal), ("fe80::1", .linkLocal), ("febf::1", .linkLocal),
        ("0.0.0.0", .unspecified), ("0.1.2.3", .unspecified), ("::", .unspecified),
        ("224.0.0.1", .multicast), ("255.255.255.255", .multicast), ("ff02::1", .multicast),
        ("::ffff:127.0.0.1", .embedded), ("::127.0.0.1", .embedded), ("64:ff9b::7f00:1", .embedded),
        ("64:ff9b:1::1", .embedded), ("2002:7f00:1::", .embedded), ("::ffff:0:127.0.0.1", .embedded),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", .embedded),
        ("10.0.0.1", .general), ("192.168.0.1", .general), ("169.253.0.1", .general), ("8.8.8.8", .general),
        ("223.255.255.255", .general), ("2001:db8::1", .general), ("fd00::1", .general), ("fec0::1", .general),
    ])
    func scopesAreKnown(_ text: String, _ scope: IPAddress.Scope) throws {
        #expect(try #require(IPAddress(text)).scope == scope)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.4 ", "+1.2.3.4", "0x1.2.3.4", "[::1]", "::1%lo", ":",
        ":::", "1::2::3", "::1\0", "1.2.3.-4",
    ])
    func onlyStrictNotationIsRead(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test(arguments: ["1.2.3.4", "::", "::1", "2001:db8::a", "ff02::1:2", "255.255.255.255"])
    func bytesAndTextRoundTrip(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(IPAddress(bytes: address.bytes) == address)
        #expect(address.description == text)
        #expect(address.bytes.count == (text.contains(":") ? 16 : 4))
    }

    @Test(arguments: [0, 1, 3, 5, 15, 17]) func otherNumbersOfBytesAreRefused(_ count: Int) {
        #expect(IPAddress(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func randomAddressesRoundTripThroughText() throws {
        var generator = SeededGenerator(seed: 3)
        for index in 0..<10_000 {
            let bytes = (0..<(index % 2 == 0 ? 4 : 16)).map { _ in
                Bool.random(using: &generator) ? UInt8.random(in: 0...255, using: &generator) : 0
            }
            let address = try #require(IPAddress(bytes: bytes))
            #expect(IPAddress(address.description) == address)
        }
    }

    @Test func randomTextNeverTraps() {
        var generator = SeededGenerator(seed: 4)
        let pieces = ["1", "255", ".", ":", "::", "ffff", "0", "00", "%", "-"]
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 12, of: pieces)
            guard let address = IPAddress(text) else { continue }
            #expect(IPAddress(address.description) == address)
        }
    }
}
