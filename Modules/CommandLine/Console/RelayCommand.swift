import ArgumentParser
import SallyportGateway

/// The relays on machines of their own.
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "List relays on machines of their own, or end the enrolment of one.",
        subcommands: [List.self, Remove.self])

    struct List: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the relays, what is in force at each, and when it answered last.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .listRelays }
    }

    struct Remove: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "End the enrolment of a relay: it refuses everything from then on.")
        @Argument(help: "The relay's name.") var name: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .removeRelay(name: name) }
        var acknowledgement: String { "removed relay \(name)" }
    }
}
