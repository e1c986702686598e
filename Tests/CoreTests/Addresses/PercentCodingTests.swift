import Testing

@testable import SallyportBase

@Suite struct PercentCodingTests {
    private func isAlphanumeric(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }

    @Test(arguments: [("a%20b", "a b"), ("%41", "A"), ("", ""), ("%2f%2F", "//")])
    func decodes(_ text: String, _ expected: String) { #expect(PercentCoding.decoded(text) == Array(expected.utf8)) }

    @Test(arguments: ["%", "%4", "%4g", "a%"]) func halfEscapesAreNone(_ text: String) {
        #expect(PercentCoding.decoded(text) == nil)
    }

    @Test func encodedTextCanBeDecoded() {
        var generator = SeededGenerator(seed: 6)
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 10, of: ["a", "/", "ü", " ", "?"]).filter { $0 != "%" }
            let encoded = PercentCoding.encoded(text, allowed: isAlphanumeric)
            #expect(PercentCoding.decoded(encoded) == Array(text.utf8))
            #expect(PercentCoding.encoded(encoded, allowed: isAlphanumeric) == encoded)
        }
    }

    @Test func textWithEscapesIsGivenBackIfTheyAreEncodedToo() {
        #expect(PercentCoding.encoded("a%41 %", allowed: isAlphanumeric) == "a%41%20%25")
        #expect(PercentCoding.encoded("a%41 %", keepsEscapes: false, allowed: isAlphanumeric) == "a%2541%20%25")
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<10_000 {
            let text = generator.text(upTo: 10, of: ["a", "%", "4", "/", "ü", "\u{301}"])
            let encoded = PercentCoding.encoded(text, keepsEscapes: false, allowed: PercentCoding.isUnreserved)
            #expect(PercentCoding.decoded(encoded) == Array(text.utf8))
        }
    }
}
