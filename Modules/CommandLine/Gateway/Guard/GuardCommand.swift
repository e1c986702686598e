import ArgumentParser
import Logging
import SallyportGateway

/// Runs a guard on a machine that has a foreign relay and no gateway.
struct GuardCommand: AsyncParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Guard a foreign relay on a machine without a gateway, until SIGTERM or SIGINT.",
        discussion: """
            Follows control gateways as a relay does: 'sallyport gateway join --role relay' makes its folder. Prints one \
            line when the foreign relay can ask. On a machine with a gateway, 'gateway run --guard' does the same.
            """)
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var guarding: GuardOptions
    @Option(
        help: ArgumentHelp("How long it goes on without word from a control gateway, 30s to 1h.", valueName: "time"),
        transform: expecting("A whole number with s, m or h"))
    var relayLease = RelayLeaseArgument(seconds: 300)
    @Option(help: "The most open tunnels of one instance.")
    var maxTunnels = 1024
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var logging: LogOptions
    @OptionGroup var output: OutputOptions

    func check() throws {
        guard guarding.socket != nil else { throw ValidationError("--guard SOCKET is missing.") }
        guard (1...65_536).contains(maxTunnels) else { throw ValidationError("--max-tunnels is 1 to 65536.") }
        try relayLease.check()
    }

    func run() async throws {
        logging.bootstrap()
        var configuration = Gateway.Configuration()
        configuration.role = .guarding
        configuration.relayLease = .seconds(relayLease.seconds)
        configuration.maximumTunnels = maxTunnels
        configuration.metrics = metrics.settings
        configuration.relayGuard = guarding.settings
        let output = output
        try await GatewayHost(location).run(configuration, logger: Logger(label: "sallyport.gateway")) { bound in
            let metrics = bound.metrics.map { ", metrics \($0)" } ?? ""
            output.print(bound, "ready: guard \(bound.guard ?? "")\(metrics)")
        }
    }
}
