import ArgumentParser
import SallyportCore
import SallyportGateway

struct RouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Set and list the routes of domains, deny addresses.",
        subcommands: [Set.self, Remove.self, List.self])

    struct Set: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set the route of a domain and its subdomains, or deny a network.",
            discussion: """
                A network (10.0.0.0/8, fd00::/8, or one address) can only be denied. No connection is then made to its \
                addresses, under any name and on any port, by the relay or by the app itself.
                """)
        @Argument(help: "The domain, a network, or 'default' for all other names.") var domain: String
        @Argument(help: "relay, relay:CLUSTER, direct or deny.") var route: RouteArgument
        @Option(
            help: ArgumentHelp("Ports that the relay opens. Default: 80,443.", valueName: "list"),
            transform: expecting("A list of ports, such as 80,443,"))
        var ports: PortList?
        @Option(help: ArgumentHelp("The cluster for when no relay of the route is reached.", valueName: "cluster"))
        var secondary: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand {
            .setRoute(
                domain: domain, route: route.route.description, ports: ports?.ports, secondary: secondary)
        }
        var acknowledgement: String { "\(domain): \(route.route)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove the rule of a domain or network.")
        @Argument(help: "The domain or network.") var domain: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeRoute(domain: domain) }
        var acknowledgement: String { "removed the rule of \(domain)" }
    }

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the routes, and the networks that are denied.",
            discussion: "A server that is listed by itself has a route of its own: see 'admin server list'.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listRoutes }
    }
}
