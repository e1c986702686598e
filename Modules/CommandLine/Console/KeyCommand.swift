import ArgumentParser
import FoundationEssentials
import SallyportGateway

struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Issue, list and revoke access keys.",
        subcommands: [Issue.self, List.self, Revoke.self])

    struct Issue: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "issue", abstract: "Issue an access key and print the activation link.",
            discussion: "The link activates one instance, once, within 24 hours. Hand it over as you would a password.")
        @Argument(help: "The user's id.") var user: String
        @Argument(help: "The app's entitlement id.") var entitlement: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .issueKey(user: user, entitlement: entitlement) }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the access keys of the last 30 days, without the keys themselves.",
            discussion: "A key is unused, used or expired. Removing a user or an entitlement destroys the unused ones.")
        @Option(help: "Only keys of this user.") var user: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listKeys(user: user) }
    }

    struct Revoke: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Destroy access keys that were not used.",
            discussion: "A used key has activated an instance, which 'admin wipe' wipes.")
        @Argument(help: "The key, as 'admin key list' names it.") var id: String?
        @Option(help: "All unused keys of this user.") var user: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard (id == nil) != (user == nil) else { throw ValidationError("Give a key or --user.") }
            // Not repeated: it may be the key itself, or its link.
            guard id.map({ UUID(uuidString: $0) != nil }) ?? true else {
                throw ValidationError("A key is named by its id, as 'admin key list' shows it.")
            }
        }

        func request() throws -> AdministrationCommand {
            if let id { return .revokeKeys(.one(id)) }
            guard let user else { throw ValidationError("Give a key or --user.") }
            return .revokeKeys(.all(ofUser: user))
        }
    }
}
