import ArgumentParser
import SallyportGateway

struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Add, remove and list apps, and configure them.",
        subcommands: [Add.self, Remove.self, List.self, Config.self, Logs.self, Extra.self])

    struct Add: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a version of an app.")
        @OptionGroup var entitlement: EntitlementArguments
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand {
            .addApplication(entitlement: entitlement.entitlement, version: entitlement.version)
        }
        var acknowledgement: String { "added \(entitlement)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a version of an app, which takes it from everyone.")
        @OptionGroup var entitlement: EntitlementArguments
        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand {
            .removeApplication(
                entitlement: entitlement.entitlement, version: entitlement.version, confirmed: confirmation.yes)
        }
        var acknowledgement: String { "removed \(entitlement)" }
    }

    struct Config: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "config", abstract: "Set the text that the app gets as configuration.")
        @Argument(help: "The app's entitlement id.") var entitlement: String
        @Option(name: .short, help: "The file with the text, '-' for standard input.") var file: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() throws -> AdministrationCommand {
            .configureApplication(entitlement: entitlement, text: try InputFile.text(file))
        }
        var acknowledgement: String { "configured \(entitlement)" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the apps.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listApplications }
    }
}

/// ENTITLEMENT VERSION
struct EntitlementArguments: ParsableArguments, CustomStringConvertible {
    @Argument(help: "The app's entitlement id, as com.example.report.") var entitlement: String
    @Argument(help: "The app's version, as 1.0.0.0.") var version: String

    var description: String { "\(entitlement) \(version)" }
}
