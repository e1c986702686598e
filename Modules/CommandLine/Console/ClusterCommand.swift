import ArgumentParser
import SallyportCore
import SallyportGateway

struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Manage clusters of relays.",
        subcommands: [Set.self, Remove.self, List.self])

    struct Set: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(commandName: "set", abstract: "Set the relays of a cluster.")
        @Argument(help: "The cluster's name.") var name: String
        @Argument(
            help: "HOST:PORT[,PRIORITY] of each relay; 1 is tried first.",
            transform: expecting("HOST:PORT or HOST:PORT,PRIORITY, from 1 to 1000,"))
        var relays: [RelayArgument]
        @Option(
            help: ArgumentHelp(
                "The authorities of the relays' certificates, PEM. Default: the gateway's own.", valueName: "file"))
        var authority: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard Route.isClusterName(name) else {
                throw ValidationError("A cluster's name has 1 to 64 letters, digits, hyphens, underscores and dots.")
            }
        }

        func request() throws -> AdministrationCommand {
            .setCluster(
                name: name,
                relays: relays.map { .init(endpoint: $0.endpoint.description, priority: $0.priority) },
                authorities: try authority.map { try InputFile.text($0) })
        }
        var acknowledgement: String { "cluster \(name) has \(Count.of(relays.count, "relay"))" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a cluster.")
        @Argument(help: "The cluster's name.") var name: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeCluster(name: name) }
        var acknowledgement: String { "removed cluster \(name)" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the clusters and their relays; main is the gateway's own.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listClusters }
    }
}
