import ArgumentParser
import HTTPTypes
import Sallyport
import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportBase
import SallyportCore

/// Auth tokens, as an app gets them and as an app server checks them.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Get and verify auth tokens, which identify an app's user to servers.",
        subcommands: [GetCommand.self, VerifyCommand.self])
}

extension TokenCommand {
    struct GetCommand: SharedAppCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Get a token, as an app would.",
            discussion: """
                Prints the token on standard output: anyone with it can use it for five minutes, unless it is bound to a \
                key and the server demands a proof.
                """)
        @Option(help: ArgumentHelp("The server's challenge: letters and digits, at most 256.", valueName: "text"))
        var challenge = ""
        @Option(help: ArgumentHelp("The server that the token is for, by convention its full name.", valueName: "name"))
        var server = ""
        @Flag(help: "Bind the token to this instance's key.") var bound = false
        @Option(help: ArgumentHelp("Print a proof for a request to this URL too; binds the token.", valueName: "url"))
        var proof: String?
        @Option(name: [.customShort("X"), .customLong("method")], help: "The method of that request.")
        var method = "GET"
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard proof.map({ (try? RequestURL($0))?.endpoint != nil }) ?? true else {
                throw ValidationError("--proof takes an http or https URL.")
            }
            guard HTTPRequest.Method(rawValue: method) != nil else {
                throw ValidationError("-X takes the name of a method, such as PUT.")
            }
        }

        func run() async throws {
            let report = try await Client(location).withInstance { [challenge, server, bound, proof, method] app in
                let token = try await app.authTokens.token(
                    challenge: challenge, serverName: server, isBound: bound || proof != nil)
                guard let proof else { return TokenReport(token) }
                return TokenReport(
                    token, proof: try await app.authTokens.proof(method: method, url: proof, token: token))
            }
            output.print(report, report.text)
        }
    }

    struct VerifyCommand: AsyncParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Verify a token, as an app server would.",
            discussion: """
                Reads the token from standard input, or from --token-file. Off-line with --keys, a file or the URL of the \
                published keys; on-line with --online, the URL of the service. Does not use the token up.
                """)
        @Option(help: ArgumentHelp("The user that the app names.", valueName: "user")) var user: String
        @Option(help: ArgumentHelp("The name of this server; empty by default.", valueName: "name")) var server = ""
        @Option(help: ArgumentHelp("The challenge that this server issued; not checked by default.", valueName: "text"))
        var challenge: String?
        @Option(help: ArgumentHelp("The file with the token.", valueName: "file")) var tokenFile = "-"
        @Option(
            help: ArgumentHelp(
                "The published keys: a file, or https://GATEWAY/.well-known/jwks.json.", valueName: "url"))
        var keys: String?
        @Option(
            help: ArgumentHelp(
                "The issuer: https://GATEWAY; repeatable, for a fleet. That of --keys by default.", valueName: "url"))
        var issuer: [String] = []
        @Option(help: ArgumentHelp("The service: https://GATEWAY/verifyGDAuthToken.", valueName: "url"))
        var online: String?
        @Option(help: ArgumentHelp("The gateway's authority, PEM. Default: the system's.", valueName: "file"))
        var ca: String?
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard (keys == nil) != (online == nil) else { throw ValidationError("Give --keys or --online.") }
            guard !issuer.isEmpty || online != nil || keys.map(TokenVerification.isURL) == true else {
                throw ValidationError("--keys FILE goes with --issuer URL, the gateway whose keys they are.")
            }
            for url in [keys.flatMap { TokenVerification.isURL($0) ? $0 : nil }, online].compactMap(\.self) {
                try TokenVerification.check(url)
            }
        }

        func run() async throws {
            let report = try await TokenVerification(self).run()
            output.print(report, report.text)
        }
    }
}

/// What `token get` prints.
private struct TokenReport: Encodable, Sendable {
    let token: String
    /// Unix seconds.
    let expires: Int64
    let bound: Bool
    let proof: String?

    init(_ token: AuthToken, proof: Redacted<String>? = nil) {
        self.token = token.text.reveal()
        expires = token.expires
        bound = token.isBound
        self.proof = proof?.reveal()
    }

    var text: String { [token, proof].compactMap(\.self).joined(separator: "\n") }
}
