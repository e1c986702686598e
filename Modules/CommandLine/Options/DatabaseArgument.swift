import ArgumentParser

/// Where a fleet's database is: a URL, or `-` for the first line of standard input. A URL may have a password, and every
/// user of a machine can read the arguments of its processes.
struct DatabaseArgument: ExpressibleByArgument, Sendable, Hashable {
    private let text: String

    init(argument text: String) { self.text = text }

    var isStandardInput: Bool { text == "-" }

    /// - Throws: a failure if standard input cannot be read, is no text or has more than 4,096 bytes.
    func url() throws(CommandFailure) -> String {
        guard isStandardInput else { return text }
        return String(try InputFile.text(text, limit: 4096).prefix { !$0.isNewline })
    }
}
