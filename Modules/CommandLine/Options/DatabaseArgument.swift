import ArgumentParser

/// Where a fleet's database is: a URL, or `-` for the first line of standard input. A URL may have a password, and every
/// user of a machine can read the arguments of its processes.
struct DatabaseArgument: ExpressibleByArgument, Sendable, Hashable {
    private let text: String

    init(argument text: String) { self.text = text }

    var isStandardInput: Bool { text == "-" }

    /// - Throws: a failure if standard input cannot be read, is no text, has more than 4,096 bytes or begins with an empty
    ///   line, which libpq would take for its defaults.
    func url() throws(CommandFailure) -> String {
        guard isStandardInput else { return text }
        let line = try InputFile.firstLine(text, limit: 4096)
        guard !line.isEmpty else { throw InputFile.isEmpty(text, "the database's URL") }
        return line
    }
}

extension ArgumentHelp {
    /// - Parameter place: what database it is, without a full stop.
    static func database(_ place: String, discussion: String = "") -> ArgumentHelp {
        ArgumentHelp("\(place); - for a URL in standard input.", discussion: discussion, valueName: "url")
    }
}
