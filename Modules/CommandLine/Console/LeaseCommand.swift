import ArgumentParser
import SallyportGateway

struct LeaseCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "lease", abstract: "Set how long apps may work without contact to the gateway.",
        discussion: """
            24h unless set. A running app asks at half the lease. Running apps are told within seconds; an app that is \
            out of reach keeps the lease that it has.
            """)
    @Argument(help: "5m to 7d, in minutes, hours or days: 90m, 12h, 3d.") var length: String
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .setLease(length) }
    var acknowledgement: String { "the lease is \(OneLine.of(length))" }
}
