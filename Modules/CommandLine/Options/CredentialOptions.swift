import ArgumentParser
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// The credential for servers that require authentication.
struct CredentialOptions: CheckedArguments {
    @Option(help: "The user: NAME, or NAME@REALM for Kerberos. The terminal prompts for the password.")
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The principal, which is one user at a server and shares no cookies, cache or tickets with others; the "
                + "instance itself by default.", valueName: "name"))
    var principal: String?

    @Option(
        help: ArgumentHelp(
            "The only method to use: basic, digest, ntlm or negotiate. Over plain http, basic needs this option.",
            valueName: "scheme"))
    var auth: AuthenticationMethodArgument?

    @Option(
        name: .customLong("password-file"),
        help: ArgumentHelp("A file whose first line is the password; '-' is standard input.", valueName: "file"))
    var passwordFile: String?

    func check() throws {
        if passwordFile != nil, user == nil { throw ValidationError("--password-file goes with --user.") }
        if let user, user.isEmpty { throw ValidationError("--user takes a name.") }
        // As curl has it: the password would be visible to every process, and part of the name.
        if let user, user.contains(":") {
            throw ValidationError("--user takes the name alone; the terminal or --password-file gives the password.")
        }
    }

    /// Nil without `--user`. The password is never an argument, which every process of the machine could see.
    func credential() throws -> Credential? {
        guard let user else { return nil }
        return Credential(user: user, password: try password(of: user), persistence: .forSession)
    }

    private func password(of user: String) throws -> Redacted<String> {
        guard let passwordFile else {
            guard let password = try TerminalPassword.ask("Password of \(OneLine.of(user)): ") else {
                throw CommandFailure(
                    .usage, name: "noPassword", "There is no terminal to ask for the password on.",
                    hint: "--password-file FILE reads it")
            }
            return password
        }
        return Redacted(try InputFile.firstLine(passwordFile, limit: PasswordLine.limit, ofSecret: "--password-file"))
    }

    /// Nil if every method may be answered: a delegate is also asked about servers' chains, which costs a handshake
    /// each.
    var answers: CommandAnswers? { (auth?.method).map(CommandAnswers.init) }
}

/// The name of a scheme.
struct AuthenticationMethodArgument: ExpressibleByArgument, Sendable, Hashable {
    let method: AuthenticationMethod

    init?(argument: String) {
        guard Self.allValueStrings.contains(argument) else { return nil }
        method = AuthenticationMethod(argument)
    }

    static var allValueStrings: [String] { ["basic", "digest", "ntlm", "negotiate"] }
}

/// Answers servers by one method. It does not answer proxies or connections.
struct CommandAnswers: SessionDelegate {
    let method: AuthenticationMethod

    func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition {
        let space = challenge.protectionSpace
        guard !space.method.isOfConnection else { return .notImplemented }
        guard space.kind == .server, space.method != method else { return .performDefaultHandling }
        return .rejectProtectionSpace
    }
}
