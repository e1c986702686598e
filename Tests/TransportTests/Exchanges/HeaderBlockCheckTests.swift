import Testing

@testable import SallyportTransport

struct HeaderBlockCheckTests {
    @Test
    func tokenHasLettersDigitsAndTheSignsOfRFC9110() {
        let signs = "!#$%&'*+-.^_`|~"
        for byte in UInt8.min...UInt8.max {
            let character = Character(UnicodeScalar(byte))
            let isLetterOrDigit = character.isASCII && (character.isLetter || character.isNumber)
            #expect(
                HeaderBlockCheck.isTokenByte(byte) == (isLetterOrDigit || signs.contains(character)), "\(byte)")
        }
    }
}
