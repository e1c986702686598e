/// Arguments that may be secrets in a place that is not for them, such as a link, a token or a URL with a password:
/// errors of the parser repeat what it cannot place.
enum SecretArguments {
    /// The longest argument that is repeated whole, in bytes.
    private static let limit = 32
    private static let shownLength = 8

    /// Shortens what the message repeats of such arguments.
    static func hidden(_ arguments: [String], in message: String) -> String {
        // The values of `--option=value` too.
        let texts = arguments + arguments.compactMap { $0.split(separator: "=", maxSplits: 1).last.map(String.init) }
        let shown = texts.map { ($0, shortened($0)) }.filter { $0 != $1 }.sorted { $0.0.utf8.count > $1.0.utf8.count }
        return shown.reduce(message) { $0.replacing("'\($1.0)'", with: "'\($1.1)'") }
    }

    private static func shortened(_ text: String) -> String {
        if let scheme = text.firstRange(of: "://") { return text[..<scheme.upperBound] + "…" }
        return text.utf8.count > limit ? text.prefix(shownLength) + "…" : text
    }
}
