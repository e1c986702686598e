/// Text as a terminal may be given it: what would steer the terminal stands as `\u001b`, which is also what JSON calls
/// it, so that a line of JSON keeps its meaning.
///
/// Names, fields and messages of servers reach the terminal in many places, and one escape sequence can move the cursor,
/// change what was printed before, or type a command. So ``StandardStreams`` passes all text through here that goes to a
/// terminal; what goes to a file or a pipe stays as it is.
enum TerminalText {
    /// Lines and tabs stay. Escaped are the controls (C0, DEL and C1, of which U+009B alone begins a sequence),
    /// separators of lines and paragraphs, and formats, which reverse the order of what is shown.
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

    /// In UTF-16, as JSON has it (RFC 8259 §7).
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        .joined()
    }
}
