import Testing

@testable import SallyportTransport

struct HeaderBlockCheckTests {
    @Test
    func tokenHasLettersDigitsAndTheSignsOfRFC9110() {
        let signs = "!#$%&'*+-.^_`|~"
        for byte in UInt8.min...UInt8.max {
            let character = Character(UnicodeScalar(byte))
            let isExpected = character.isASCII && (character.isLetter || character.isNumber || signs.contains(character))
            #expect(HeaderBlockCheck.isTokenByte(byte) == isExpected, "\(byte)")
        }
    }
}
