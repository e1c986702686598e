import SallyportCore
import Testing

@Suite struct PrincipalTests {
    @Test func namesOfOtherBytesAreOtherPrincipals() {
        let (composed, decomposed) = (Principal("jos\u{e9}"), Principal("jose\u{301}"))
        #expect(composed != decomposed && composed == Principal("jos\u{e9}"))
        #expect(Set([composed, decomposed, Principal("jose\u{301}")]).count == 2)
        #expect(Principal("instance") == .instance)
    }
}
