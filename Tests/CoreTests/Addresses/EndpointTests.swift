import SallyportCore
import Testing

@Suite struct EndpointTests {
    @Test(arguments: [
        ("example.com:443", "example.com:443"), ("EXAMPLE.com.:1", "example.com:1"), ("[::1]:65535", "[::1]:65535"),
        ("0x7f.1:80", "127.0.0.1:80"),
    ])
    func hostAndPortAreRead(_ text: String, _ expected: String) throws {
        #expect(try Endpoint(text).description == expected)
    }

    @Test func aDefaultPortFillsIn() throws {
        #expect(try Endpoint("example.com", defaultPort: 17433).port == 17433)
        #expect(try Endpoint("[::1]", defaultPort: 80).description == "[::1]:80")
        #expect(try Endpoint("example.com:5", defaultPort: 80).port == 5)
    }

    @Test(arguments: [
        "example.com", "example.com:", "example.com:0", "example.com:65536", "example.com:+1", "example.com:-1",
        "example.com:1a", "example.com: 1", "example.com:000001", "example.com:٣", "",
    ])
    func wrongPortsAreRefused(_ text: String) {
        #expect(throws: AddressError(.invalidPort, "")) { try Endpoint(text) }
    }

    @Test(arguments: [":80", "[::1]x:80", "[::1:80", "a b:80", "2001:db8::1:80", "::1:80"])
    func wrongHostsAreRefused(_ text: String) {
        #expect(throws: AddressError(.invalidHost, "")) { try Endpoint(text) }
    }

    @Test func portZeroIsRefused() throws {
        let host = try Host("a.example")
        #expect(throws: AddressError(.invalidPort, "")) { try Endpoint(host: host, port: 0) }
    }

    @Test func randomTextEndsInAnEndpointThatReadsItselfBack() {
        var generator = SeededGenerator(seed: 2)
        let pieces = ["a.example", ":", "80", "[::1]", "]", "[", "0", "%", "127.1"]
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 5, of: pieces)
            guard let endpoint = try? Endpoint(text) else { continue }
            #expect((try? Endpoint(endpoint.description)) == endpoint)
        }
    }
}
