/// Why a command failed: what is printed, and how the program ends.
struct CommandFailure: Error, Sendable, Hashable, CustomStringConvertible {
    let status: ExitStatus
    /// The result code (-302, …) if there is one, otherwise the exit status.
    let code: Int
    let name: String
    /// One sentence, without secrets.
    let message: String
    /// What to do next.
    let hint: String?

    init(_ status: ExitStatus, code: Int? = nil, name: String, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code ?? Int(status.rawValue)
        self.name = name
        self.message = message
        self.hint = hint
    }

    /// The same failure, which says what it is about.
    func about(_ subject: String) -> CommandFailure {
        CommandFailure(status, code: code, name: name, "\(subject): \(message)", hint: hint)
    }

    /// One line: `sallyport: MESSAGE (HINT)`.
    var description: String {
        let end = message.hasSuffix(".") ? String(message.dropLast()) : message
        return "sallyport: " + OneLine.of(hint.map { "\(end) (\($0))" } ?? message)
    }

    func text(asJSON isJSON: Bool) -> String {
        guard isJSON else { return description }
        return JSONOutput.text(FailureReport(error: .init(code: code, name: name, message: OneLine.of(message))))
    }
}

/// The shape of a failure under `--json`.
private struct FailureReport: Encodable {
    struct Details: Encodable {
        let code: Int
        let name: String
        let message: String
    }
    let error: Details
}

/// A number of things in words.
enum Count {
    static func of(_ number: Int, _ thing: String) -> String { number == 1 ? "1 \(thing)" : "\(number) \(thing)s" }
}

/// Shows foreign text on one line: it must not break the line or control the terminal.
enum OneLine {
    static func of(_ text: String) -> String {
        String(
            text.unicodeScalars.map { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator, .format: " "
                default: Character(scalar)
                }
            }
        )
        .split(separator: " ").joined(separator: " ")
    }
}
