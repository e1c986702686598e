import ArgumentParser
import SallyportCore
import SallyportGateway

struct RouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Set the routes of domains.", subcommands: [Set.self, Remove.self])

    struct Set: ConsoleCommand {
        static let configuration = CommandConfiguration(abstract: "Set the route of a domain and all below it.")
        @Argument(help: "The domain, or 'default' for what nothing else matches.") var domain: String
        @Argument(help: "relay, relay:CLUSTER, direct or deny.") var route: RouteArgument
        @Option(help: ArgumentHelp("Ports that the relay opens. Default: 80,443.", valueName: "list"))
        var ports: PortList?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand {
            .setRoute(domain: domain, route: route.route.description, ports: ports?.ports)
        }
        var acknowledgement: String { "\(domain): \(route.route)" }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(abstract: "Remove the rule of a domain.")
        @Argument(help: "The domain.") var domain: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeRoute(domain: domain) }
        var acknowledgement: String { "removed the rule of \(domain)" }
    }
}
