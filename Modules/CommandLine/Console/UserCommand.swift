import ArgumentParser
import SallyportGateway

struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Add, remove and list users.",
        subcommands: [Add.self, Remove.self, List.self, Principal.self])

    struct Add: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a user.")
        @Argument(help: "The user's id, usually an address.") var user: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .addUser(user) }
        var acknowledgement: String { "added user \(user)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a user, which wipes the user's instances.")
        @Argument(help: "The user's id.") var user: String
        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeUser(user, confirmed: confirmation.yes) }
        var acknowledgement: String { "removed user \(user)" }
    }

    struct Principal: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "principal", abstract: "Set the user principal name, which the user's apps are told.",
            discussion: "Without a name, the user has none any more.")
        @Argument(help: "The user's id.") var user: String
        @Argument(help: ArgumentHelp("The name, as ann@CORP.EXAMPLE.", valueName: "user@realm")) var name: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .setPrincipalName(user: user, name) }
        var acknowledgement: String {
            name.map { "\(user) is \(OneLine.of($0))" } ?? "\(user) has no principal name"
        }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the users.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listUsers }
    }
}
