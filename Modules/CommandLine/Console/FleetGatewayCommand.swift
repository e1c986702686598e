import ArgumentParser
import FoundationEssentials
import SallyportGateway

/// The gateways of the fleet.
struct FleetGatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway", abstract: "Show the gateways of the fleet, or remove one that has ended.",
        subcommands: [List.self, Remove.self])

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the gateways of the fleet.",
            discussion: """
                Each shows itself to the others every 10 seconds: one that is silent was not seen for 30. Apps are told \
                of all that are listed.
                """)
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listGateways }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a gateway that has ended for good.",
            discussion: "Apps are told of it no longer, and its tokens do not verify any more.")
        @Argument(help: "Its name, its identifier, or HOST:PORT of its control listener.") var gateway: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeGateway(gateway) }
        var acknowledgement: String { "removed gateway \(gateway)" }
    }
}

/// What `admin gateway list` prints for people.
enum GatewayTable {
    static func text(of gateways: [AdministrationReply.GatewayEntry], at now: Date) -> String {
        guard !gateways.isEmpty else { return "no gateway has run yet" }
        var table = Table(["GATEWAY", "CONTROL", "RELAY", "STATE", "SEEN", "REVISION", "ID"])
        for entry in gateways {
            let age = Int64(min(now.timeIntervalSince(entry.seen), 1e12))
            table.append([
                entry.isThis ? "\(entry.name) (this)" : entry.name, entry.control, entry.relay, entry.state,
                "\(StoreFindings.span(age)) ago", "\(entry.applied)", entry.id,
            ])
        }
        return table.text
    }
}
