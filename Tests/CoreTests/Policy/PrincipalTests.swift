import SallyportCore
import Testing

@Suite struct PrincipalTests {
    @Test func namesOfOtherBytesAreOtherPrincipals() {
        let (composed, decomposed) = (Principal("jos\u{e9}"), Principal("jose\u{301}"))
        #expect(composed != decomposed && composed == Principal("jos\u{e9}"))
        #expect(Set([composed, decomposed, Principal("jose\u{301}")]).count == 2)
        #expect(Principal("instance") == .instance)
    }

    @Test func asciiNamesAreEqualToThemselvesOnly() {
        let long = String(repeating: "a", count: 40)
        #expect(Principal(long) == Principal(long) && Principal(long) != Principal(long + "b"))
        #expect(Principal("jose") != Principal("jose\u{301}") && Principal("") == Principal(""))
        #expect(Principal(long).hashValue == Principal(long).hashValue)
    }

    /// U+212B, U+00C5 and A with U+030A are one letter to Unicode. Any number of such names could be chosen.
    @Test func equivalentNamesHaveDifferentHashes() {
        let hashes = Set(["\u{212b}", "\u{c5}", "A\u{30a}"].map { Principal($0).hashValue })
        #expect(hashes.count == 3)
    }
}
