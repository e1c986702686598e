/// Makes text safe for a terminal: control characters are written as `\u001b`, which is also JSON's notation, so that a
/// line of JSON keeps its meaning.
///
/// Names, header fields and messages of servers reach the terminal in many places, and one escape sequence can move the
/// cursor, change what was printed before, or type a command. So ``StandardStreams`` passes all text for a terminal
/// through here; text for a file or a pipe stays unchanged.
enum TerminalText {
    /// Escapes a text. Line breaks and tabs stay. Escaped are the controls (C0, DEL and C1, of which U+009B alone
    /// begins a sequence), separators of lines and paragraphs, and format characters, which can reverse the order of
    /// the text.
    static func of(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isSteering) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isSteering(scalar) { shown += escaped(scalar) } else { shown.unicodeScalars.append(scalar) }
        }
        return shown
    }

    private static func isSteering(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar != "\n", scalar != "\t" else { return false }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format: return true
        default: return false
        }
    }

    /// UTF-16 escapes as in JSON (RFC 8259 §7).
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        .joined()
    }
}
