import SallyportBase
import SallyportLoading
import Testing

/// Texts that are told apart by their bytes: U+212B, U+00C5 and A with U+030A are one letter to Unicode.
struct ByteTextTests {
    private let equivalent = ["\u{212b}", "\u{c5}", "A\u{30a}"]

    @Test func equivalentTextsAreDifferentAndHaveDifferentHashes() {
        #expect(Set(equivalent).count == 1)
        #expect(Set(equivalent.map(ByteText.init)).count == 3)
        #expect(Set(equivalent.map { ByteText($0).hashValue }).count == 3)
        for text in equivalent { #expect(ByteText(text) == ByteText(text)) }
    }

    @Test func soAreTheNamesOfJars() {
        #expect(Set(equivalent.map { CookieJarSelection.named($0).hashValue }).count == 3)
        #expect(Set(equivalent.map(CookieJarSelection.named) + [.instance, .none, .none]).count == 5)
    }
}
