import ArgumentParser
import SallyportGateway

extension AppCommand {
    struct Logs: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "logs", abstract: "Set how much the app logs.",
            discussion: "The app is told, and decides what that means. What is not given stays as it is.")
        @Argument(help: "The app's entitlement id.") var entitlement: String
        @Option(help: ArgumentHelp("Detailed logs: on or off.", valueName: "on|off")) var detailed: Switch?
        @Option(help: ArgumentHelp("Whether users may switch them on: on or off.", valueName: "on|off"))
        var users: Switch?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard detailed != nil || users != nil else { throw ValidationError("Give --detailed or --users.") }
        }

        func request() -> AdministrationCommand {
            .setLogging(
                entitlement: entitlement, isDetailed: detailed.map { $0 == .on },
                isKeptFromUsers: users.map { $0 == .off })
        }
        var acknowledgement: String { "set the logs of \(entitlement)" }
    }

    struct Extra: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "extra", abstract: "Set the extra information that the app gets, a JSON object.",
            discussion: "An empty file or object ends what was set.")
        @Argument(help: "The app's entitlement id.") var entitlement: String
        @Option(name: .short, help: "The file with the JSON, '-' for standard input.") var file: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() throws -> AdministrationCommand {
            .setExtraInfo(entitlement: entitlement, json: try InputFile.text(file))
        }
        var acknowledgement: String { "set the extra information of \(entitlement)" }
    }

    enum Switch: String, ExpressibleByArgument, CaseIterable { case on, off }
}
