import ArgumentParser
import SallyportCore
import SallyportGateway

struct ServerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server", abstract: "Add, remove and list servers.",
        subcommands: [Add.self, Remove.self, List.self])

    struct Add: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a server that apps may reach.",
            discussion: """
                With --app it is a server of that app, which can look it up; without, an additional server, \
                routed for all.
                """)
        @Argument(help: "HOST:PORT", transform: expecting("HOST:PORT")) var server: EndpointArgument
        @Option(help: ArgumentHelp("The app that owns the server.", valueName: "entitlement")) var app: String?
        @Option(help: "Among the app's servers: 1 is tried first.") var priority: Int?
        @Option(help: "relay, relay:CLUSTER, direct or deny.") var route = RouteArgument.relay
        @Option(help: ArgumentHelp("The cluster for when no relay of the route is reached.", valueName: "cluster"))
        var secondary: String?
        @Option(help: ArgumentHelp("The server's address inside the network.", valueName: "ip")) var address: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            if let priority, !(1...1000).contains(priority) { throw ValidationError("--priority is 1 to 1000.") }
            if priority != nil, app == nil { throw ValidationError("--priority is for a server of an app: add --app.") }
            guard let address else { return }
            guard case .address? = try? Host(address) else { throw ValidationError("--address is an IP address.") }
        }

        func request() -> AdministrationCommand {
            .addServer(
                .init(
                    endpoint: server.endpoint.description, entitlement: app, priority: priority,
                    route: route.route.description, secondary: secondary, address: address))
        }
        var acknowledgement: String { "added server \(server.endpoint): \(route.route)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a server.")
        @Argument(help: "HOST:PORT", transform: expecting("HOST:PORT")) var server: EndpointArgument
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeServer(endpoint: server.endpoint.description) }
        var acknowledgement: String { "removed server \(server.endpoint)" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the servers.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listServers }
    }
}
