import SallyportWire
import Testing

@Suite("Lengths of configurations") struct ConfigurationLengthTests {
    @Test("A configuration that no instance would take is not signed") func tooLong() throws {
        let own = try Samples.configuration()
        var document = own
        document.application.config = String(repeating: "\u{1}", count: ConfigurationDocument.Limits.text)
        _ = try own.serialized(with: document.sharedMembers())
        document.policy = .object(["a": .string(String(repeating: "x", count: 150_000))])
        #expect(throws: WireError(.tooLarge, "")) { try document.serialized() }
        #expect(throws: WireError(.tooLarge, "")) { try own.serialized(with: document.sharedMembers()) }
    }

    @Test("The length of what instances share is known without their own members") func shared() throws {
        let document = try Samples.configuration()
        let length = try document.sharedLength()
        var longer = document
        longer.application.config += "12345"
        #expect(try longer.sharedLength() == length + 5)
        #expect(try document.serialized().count > length)
    }

    @Test(
        "A value is written no longer than its text says",
        arguments: [
            "{ \"a\": [1, -2.5, true, false, null] }\n", "[1e18,1E+18,-1e-7,1.5e300,1e3]", "[0.1,100.0,-0]",
            "[12345678901234567890, 0.1234567890123456789, 9223372036854775807]",
            "{\"1e5\":\"\\u0001\\u00e4\\\" 1e5 \\\\\",\"b\":\" [ \\/ ] \"}", "[ ]", "{}",
        ])
    func longest(_ text: String) throws {
        let bytes = Array(text.utf8)
        let value = try WireJSON.decode(JSONValue.self, from: bytes, limit: bytes.count)
        #expect(try WireJSON.encode(value).count <= WireJSON.longestEncoding(of: bytes))
    }

    @Test("White space does not count, and strings as they are") func strings() {
        #expect(WireJSON.longestEncoding(of: Array(" { \"1e5 \" : \"\\\"2e5 \" } ".utf8)) == 17)
    }
}
