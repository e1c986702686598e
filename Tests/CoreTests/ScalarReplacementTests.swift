import SallyportBase
import Testing

@Suite struct ScalarReplacementTests {
    @Test(arguments: [
        ("", ""), ("a", "a"), ("'", "''"), ("a'b'", "a''b''"), ("a'\u{301}b", "a''\u{301}b"), ("e\u{301}", "e\u{301}"),
    ])
    func eachScalarIsReplacedAlsoBeforeACombiningMark(_ text: String, _ replaced: String) {
        #expect(text.replacing(scalar: "'", with: "''").utf8.elementsEqual(replaced.utf8))
    }
}
