import ArgumentParser
import SallyportGateway

struct DefaultDomainsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "default-domains", abstract: "Set the domains to which names without a domain may belong.",
        discussion: "'admin show' prints them.", subcommands: [Set.self, Clear.self])

    struct Set: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set the domains, in the order in which they are considered.",
            discussion: """
                For 'portal' the first domain counts in which portal.DOMAIN is listed as a server, else the first in \
                which the routes let it be reached. Nothing is looked up.
                """)
        @Argument(help: ArgumentHelp("A domain, as corp.example.", valueName: "domain")) var domains: [String]
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .setDefaultDomains(domains) }
        var acknowledgement: String { "set \(Count.of(domains.count, "default domain"))" }
    }

    struct Clear: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Remove all: names without a domain stand for themselves.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .setDefaultDomains([]) }
        var acknowledgement: String { "removed the default domains" }
    }
}
