import ArgumentParser
import SallyportCore
import SallyportGateway

struct RealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realm", abstract: "Manage the KDCs of Kerberos realms.",
        subcommands: [Add.self, Remove.self, List.self])

    struct Add: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a KDC of a realm.",
            discussion: """
                Adds no server: apps reach the KDC unless its route is deny. The KDCs of a realm are tried in the \
                order in which they were added.
                """)
        @Argument(help: "The realm, spelt as in its users' names.") var realm: String
        @Argument(help: ArgumentHelp("HOST[:PORT]; port 88 by default.", valueName: "kdc")) var kdc: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .addRealm(name: realm, kdc: kdc) }
        var acknowledgement: String { "added a KDC of \(OneLine.of(realm))" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a realm with all its KDCs.")
        @Argument(help: "The realm.") var realm: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeRealm(name: realm) }
        var acknowledgement: String { "removed realm \(OneLine.of(realm))" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the realms and their KDCs.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listRealms }
    }
}
