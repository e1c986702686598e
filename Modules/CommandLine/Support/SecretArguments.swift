/// Arguments that may be secrets in a place that is not for them, such as a link, a token or a URL with a password:
/// errors of the parser repeat what it cannot place.
enum SecretArguments {
    /// The longest argument that is repeated whole, in bytes.
    private static let limit = 32
    private static let shownLength = 8

    /// Shortens what the message repeats of such arguments.
    static func hidden(_ arguments: [String], in message: String) -> String {
        let shown = values(of: arguments).map { ($0, shortened($0)) }.filter { $0 != $1 }
            .sorted { $0.0.utf8.count > $1.0.utf8.count }
        return shown.reduce(message) { $0.replacing("'\($1.0)'", with: "'\($1.1)'") }
    }

    /// Shortens links, invitations, tokens and URLs with a password wherever a failure repeats them: in the place of a
    /// file's name, say, or of a user's.
    static func withoutLinks(_ arguments: [String], in failure: CommandFailure) -> CommandFailure {
        let secrets = values(of: arguments).filter(isSecret)
        func hidden(_ text: String) -> String {
            secrets.reduce(text) { $0.replacing($1, with: shortened($1)) }
        }
        return CommandFailure(
            failure.status, code: failure.code, name: failure.name, hidden(failure.message),
            hint: failure.hint.map(hidden))
    }

    /// The arguments, the values of `--option=value`, and of `@FILE` what is behind the sign.
    private static func values(of arguments: [String]) -> [String] {
        let values = arguments + arguments.compactMap { $0.split(separator: "=", maxSplits: 1).last.map(String.init) }
        return values + values.filter { $0.utf8.first == UInt8(ascii: "@") }.map { String($0.utf8.dropFirst()) ?? $0 }
    }

    /// Whether the text is an activation link, an invitation, a URL with a password, or a token in the compact
    /// serialization of RFC 7515.
    private static func isSecret(_ text: String) -> Bool {
        let beginnings = ["sallyport://", "sallyport-invitation:", "sallyport-relay-invitation:"]
        if beginnings.contains(where: text.lowercased().hasPrefix) { return true }
        return hasPassword(text) || text.hasPrefix("eyJ") && text.contains(".")
    }

    /// Whether the text is a URL with a user and a password, such as that of a database.
    private static func hasPassword(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else { return false }
        let authority = text[scheme.upperBound...].utf8.prefix { $0 != UInt8(ascii: "/") }
        guard let end = authority.lastIndex(of: UInt8(ascii: "@")) else { return false }
        return authority[..<end].contains(UInt8(ascii: ":"))
    }

    private static func shortened(_ text: String) -> String {
        if let scheme = text.firstRange(of: "://") { return text[..<scheme.upperBound] + "…" }
        return text.utf8.count > limit ? text.prefix(shownLength) + "…" : text
    }
}
