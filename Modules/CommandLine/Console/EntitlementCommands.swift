import ArgumentParser
import SallyportGateway

struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Set an app's policy.", subcommands: [Set.self])

    struct Set: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set the policy, a JSON object that the app is given and enforces.")
        @Argument(help: "The app's entitlement id.") var entitlement: String
        @Option(name: .short, help: "The file with the policy, '-' for standard input.") var file: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() throws -> AdministrationCommand {
            .setPolicy(entitlement: entitlement, json: try InputFile.text(file))
        }
        var acknowledgement: String { "set the policy of \(entitlement)" }
    }
}

struct EntitleCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "entitle", abstract: "Let a user use a version of an app.")
    @Argument(help: "The user's id.") var user: String
    @OptionGroup var entitlement: EntitlementArguments
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand {
        .entitle(user: user, entitlement: entitlement.entitlement, version: entitlement.version)
    }
    var acknowledgement: String { "entitled \(user) to \(entitlement)" }
}

struct UnentitleCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "unentitle", abstract: "Take a version of an app from a user.")
    @Argument(help: "The user's id.") var user: String
    @OptionGroup var entitlement: EntitlementArguments
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand {
        .unentitle(
            user: user, entitlement: entitlement.entitlement, version: entitlement.version,
            confirmed: confirmation.yes)
    }
    var acknowledgement: String { "\(user) is no longer entitled to \(entitlement)" }
}
