import Foundation
import Testing

@testable import SallyportCommandLine

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("\u{1b}[31mred", "\\u001b[31mred"), ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
        ("\u{9b}2J", "\\u009b2J"), ("\u{7f}", "\\u007f"), ("a\rb", "a\\u000db"), ("\u{202e}txt.exe", "\\u202etxt.exe"),
        ("\u{2028}", "\\u2028"), ("\u{e0041}", "\\udb40\\udc41"), ("a\u{8}b", "a\\u0008b"),
    ])
    func controlCharactersAreShownAsText(_ text: String, _ shown: String) {
        #expect(TerminalText.of(text) == shown)
    }

    @Test(arguments: ["", "a\nb\tc", "Grüße, 世界 🙂", "\\u001b"]) func otherTextStays(_ text: String) {
        #expect(TerminalText.of(text) == text)
    }

    /// JSON does not escape C1 controls. On a terminal they are escaped; the meaning stays the same.
    @Test func jsonKeepsItsMeaning() throws {
        let value = ["\u{9b}2J\u{1b}[0m\u{202e}\u{e0041}"]
        let shown = TerminalText.of(JSONOutput.text(value))
        #expect(shown.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
        #expect(try JSONDecoder().decode([String].self, from: Data(shown.utf8)) == value)
    }
}
