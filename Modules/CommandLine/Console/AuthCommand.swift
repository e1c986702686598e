import ArgumentParser
import SallyportGateway

struct AuthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth", abstract: "Set which authentication schemes apps may use.",
        discussion: """
            Schemes are basic, digest, negotiate, ntlm and ntlmv1. All but ntlmv1 are allowed by default; 'admin show' \
            lists the allowed ones.
            """,
        subcommands: [Allow.self, Forbid.self])

    struct Allow: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "allow", abstract: "Allow a scheme.")
        @Argument(help: ArgumentHelp("The scheme's name.", valueName: "scheme")) var scheme: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .allowScheme(name: scheme) }
        var acknowledgement: String { "allowed \(OneLine.of(scheme.lowercased()))" }
    }

    struct Forbid: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "forbid", abstract: "Forbid a scheme.",
            discussion: "Apps then skip its challenges and send no credential with it.")
        @Argument(help: ArgumentHelp("The scheme's name.", valueName: "scheme")) var scheme: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .forbidScheme(name: scheme) }
        var acknowledgement: String { "forbade \(OneLine.of(scheme.lowercased()))" }
    }
}
