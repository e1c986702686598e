import ArgumentParser
import SallyportGateway

struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Add, remove and list users.", subcommands: [Add.self, Remove.self, List.self])

    struct Add: ConsoleCommand {
        static let configuration = CommandConfiguration(abstract: "Add a user.")
        @Argument(help: "The user's id, usually an address.") var user: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .addUser(user) }
        var acknowledgement: String { "added user \(user)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a user, which wipes the user's instances.")
        @Argument(help: "The user's id.") var user: String
        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeUser(user, confirmed: confirmation.yes) }
        var acknowledgement: String { "removed user \(user)" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(abstract: "List the users.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listUsers }
    }
}
