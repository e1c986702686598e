import ArgumentParser
import SallyportCore
import SallyportGateway

struct TLSCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tls", abstract: "Restrict TLS versions on relayed connections.",
        subcommands: [Block.self, Unblock.self, Floor.self])

    struct Block: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "block", abstract: "Block a version.")
        @Argument(help: "TLS1.0 to TLS1.3.") var version: TLSVersionArgument
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .blockTLS(version: version.version.description) }
        var acknowledgement: String { "blocked \(version.version)" }
    }

    struct Unblock: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "unblock", abstract: "Unblock a version.")
        @Argument(help: "TLS1.0 to TLS1.3.") var version: TLSVersionArgument
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .unblockTLS(version: version.version.description) }
        var acknowledgement: String { "unblocked \(version.version)" }
    }

    struct Floor: ConsoleCommand {
        static let configuration = CommandConfiguration(commandName: "floor", abstract: "Set the lowest version.")
        @Argument(help: "TLS1.0 to TLS1.3.") var version: TLSVersionArgument
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .setTLSFloor(version: version.version.description) }
        var acknowledgement: String { "the lowest version is \(version.version)" }
    }
}
